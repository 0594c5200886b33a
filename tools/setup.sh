#!/bin/sh
# Makes $VENV with everything the project needs, on a bare Debian machine with Python 3.11 or newer.
set -eu
cd "$(dirname "$0")/.."

"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
    echo "fencepost needs Python 3.11 or newer: set PYTHON=…" >&2
    exit 1
}

# Debian ships venv apart from Python.
if ! "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
    else
        echo "this Python cannot make virtual environments: apt-get install python3-venv" >&2
        exit 1
    fi
fi

echo "setting up $VENV (once)" >&2
[ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
