"""Finding the servers that tests need. A missing one is loud: an error in CI, a counted skip elsewhere."""

import glob
import os
import shutil
from collections.abc import Sequence

MISSING = " is missing: "


def find_binary(name: str, package: str, *, folders: Sequence[str] = ()) -> str:
    """The path of the server `name`, looked for on PATH and in `folders`, which may hold wildcards.

    If it is missing: where `CI=true`, `FileNotFoundError`; elsewhere the test is skipped, and the summary of the
    run says how many were, and which package to install.
    """
    places = [folder for pattern in ("/usr/sbin", "/usr/local/sbin", *folders) for folder in sorted(glob.glob(pattern))]
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *places]))
    if found is not None:
        return found
    raise _missing(name, f"apt-get install {package}")


def find_file(path: str, package: str) -> str:
    """`path` itself, a part of a server that is no program; if it is missing, as above."""
    if os.path.exists(path):
        return path
    raise _missing(path, f"apt-get install {package}")


def find_built(name: str) -> str:
    """The path of what `tools/servers/build.sh` builds, such as 'consul', 'etcd', 'porcupine' or 'versitygw'.

    If it was not built, one on PATH will do. If there is none either, it is missed as loudly as by `find_binary`.
    """
    found = shutil.which(name, path=os.pathsep.join([os.path.join(_home(), "bin"), os.environ.get("PATH", "")]))
    if found is not None:
        return found
    raise _missing(name, f"sh tools/servers/build.sh {name}")


def find_jars(name: str) -> str:
    """The class path of a server in Java that `tools/servers/build.sh` collects, such as 'zookeeper'."""
    folder = os.path.join(_home(), name)
    if os.path.isdir(folder):
        return os.path.join(folder, "*")
    raise _missing(name, f"sh tools/servers/build.sh {name}")


def _home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.environ.get("FENCEPOST_SERVERS") or os.path.join(cache, "fencepost", "servers")


def _missing(name: str, remedy: str) -> BaseException:
    reason = f"{name}{MISSING}{remedy}"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        return FileNotFoundError(reason)
    import pytest

    return pytest.skip.Exception(reason, _use_item_location=True)
