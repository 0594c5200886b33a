#!/bin/sh
# Unit tests on every other Python that is here: on the path, or made by pyenv. What cannot be had is said and left out.
set -eu
cd "$(dirname "$0")/.."

found=""
for version in 3.12 3.13 3.13t 3.14 3.14t; do
    plain=${version%t}
    free=${version#"$plain"}
    for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$plain".*"$free/bin/python$plain"; do
        if "$python" -c "import sys, sysconfig; t = bool(sysconfig.get_config_var('Py_GIL_DISABLED')); \
            sys.exit(('%d.%d' % sys.version_info[:2] + 't' * t) != '$version')" 2>/dev/null; then
            found="$found $version"
            echo "Python $version: $python"
            if "$MAKE" --silent "VENV=.venv-$version" "PYTHON=$python" ".venv-$version/.ready"; then
                "$MAKE" "VENV=.venv-$version" "PYTHON=$python" unit
            else
                echo "Python $version: what the tests need cannot be had here"
            fi
            break
        fi
    done
done
[ -n "$found" ] || echo "no Python from 3.12 on was found"
