"""Finding the servers that tests need. A missing one is loud: an error in CI, a counted skip elsewhere."""

import glob
import os
import shutil
from collections.abc import Sequence

MISSING = " is missing: apt-get install "


def find_binary(name: str, package: str, *, folders: Sequence[str] = ()) -> str:
    """The path of the server `name`, looked for on PATH and in `folders`, which may hold wildcards.

    If it is missing: where `CI=true`, `FileNotFoundError`; elsewhere the test is skipped, and the summary of the
    run says how many were, and which package to install.
    """
    places = [folder for pattern in ("/usr/sbin", "/usr/local/sbin", *folders) for folder in sorted(glob.glob(pattern))]
    found = shutil.which(name, path=os.pathsep.join([os.environ.get("PATH", ""), *places]))
    if found is not None:
        return found
    raise _missing(name, package)


def find_file(path: str, package: str) -> str:
    """`path` itself, a part of a server that is no program; if it is missing, as above."""
    if os.path.exists(path):
        return path
    raise _missing(path, package)


def _missing(name: str, package: str) -> BaseException:
    reason = f"{name}{MISSING}{package}"
    if os.environ.get("CI", "").lower() in ("true", "1"):
        return FileNotFoundError(reason)
    import pytest

    return pytest.skip.Exception(reason, _use_item_location=True)
