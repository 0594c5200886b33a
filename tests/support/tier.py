"""Which tests a command runs: by the marks in the files of the tests, by engine and by chapter.

The marks are explained in tests/README.md. Without options everything is selected.
"""

from pathlib import Path

import pytest

from fencepost.testing.contract import FLAVOURS, LAWS, SITES

MARKS = (
    "unit: needs no server and no other process",
    "slow: left to `make test-all`",
    "calm: left to `make test-all`, which runs it alone on the machine",
    "storm: a random adversary: `make test-all` runs it with one seed, `make soak` with ever new ones",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("fencepost")
    group.addoption("--engine", metavar="SCHEME", help="only what concerns the engine of this scheme")
    group.addoption("--chapter", metavar="LAW", help=f"only this chapter of the contract: {', '.join(LAWS)}")


def pytest_configure(config: pytest.Config) -> None:
    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    if (scheme := config.getoption("engine")) and scheme not in SITES:
        raise pytest.UsageError(f"no engine has the scheme '{scheme}': {', '.join(SITES)}")
    if (law := config.getoption("chapter")) and law not in LAWS:
        raise pytest.UsageError(f"the contract has no chapter '{law}': {', '.join(LAWS)}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    scheme, law = config.getoption("engine"), config.getoption("chapter")
    kept = [
        item
        for item in items
        if (not scheme or engine_of(scheme) in _engines(item)) and (not law or _chapter(item) in _chapters(law))
    ]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=list(set(items) - set(kept)))
        items[:] = kept


def engine_of(scheme: str) -> str:
    """What the folder of an engine's tests is called, whichever of its schemes is given."""
    plain = scheme.partition("+")[0]
    return plain if plain.removesuffix("s") not in SITES else plain.removesuffix("s")


def _engines(item: pytest.Item) -> set[str]:
    """Those a test is about: by the folder it stands in, and by the schemes among its parameters."""
    callspec = getattr(item, "callspec", None)
    parameters = callspec.params.values() if callspec else ()
    schemes = {each for each in parameters if isinstance(each, str) and each in SITES}
    return {engine_of(scheme) for scheme in schemes} | set(_folder(item).parts)


def _folder(item: pytest.Item) -> Path:
    """Within the project: where that stands may be called like anything."""
    folder, root = item.path.parent, item.config.rootpath
    return folder.relative_to(root) if folder.is_relative_to(root) else folder


def _chapters(law: str) -> set[str]:
    return {f"Test{law.capitalize()}{flavour.capitalize()}" for flavour in FLAVOURS}


def _chapter(item: pytest.Item) -> str | None:
    owner = item.getparent(pytest.Class)
    return owner.name if owner else None
