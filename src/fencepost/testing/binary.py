"""Finding the servers that tests need. A missing one is loud: an error in CI, a counted skip elsewhere."""

import glob
import os
import shutil
from collections.abc import Sequence
from typing import NoReturn

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
    return _miss(name, f"apt-get install {package}")


def find_built(name: str) -> str:
    """The path of a server that `tools/servers/build.sh` builds, such as 'consul', 'etcd' or 'etcdctl'.

    If it was not built, one on PATH will do. If there is none either, it is missed as loudly as by `find_binary`.
    """
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    home = os.environ.get("FENCEPOST_SERVERS") or os.path.join(cache, "fencepost", "servers")
    found = shutil.which(name, path=os.pathsep.join([os.path.join(home, "bin"), os.environ.get("PATH", "")]))
    return found or _miss(name, f"sh tools/servers/build.sh {name}")


def _miss(name: str, remedy: str) -> NoReturn:
    reason = f"{name}{MISSING}{remedy}"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        raise FileNotFoundError(reason)
    import pytest

    raise pytest.skip.Exception(reason, _use_item_location=True)
