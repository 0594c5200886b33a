"""Which tests an engine, a chapter and a mark select."""

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.unit
PLUGIN = ("-p", "tests.support.tier", "--strict-markers")
SUITE = """
    import pytest

    @pytest.mark.parametrize("scheme", ["memory", "redis", "redis+unix", "rediss", "etcd", "etcds"])
    class TestTokenAsync:
        def test_it(self, scheme): ...

    @pytest.mark.parametrize("scheme", ["memory", "redis"])
    class TestFenceSync:
        def test_it(self, scheme): ...
    """
OWN = """
    import pytest

    @pytest.mark.unit
    def test_unit(): ...

    @pytest.mark.slow
    @pytest.mark.storm
    def test_storm(): ...

    @pytest.mark.calm
    def test_calm(): ...
    """


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """In folders like ours, and below one that has the name of an engine and no tests of it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    root = pytester.mkdir("memory")
    for path, text in (("tests/test_contract.py", SUITE), ("tests/engines/redis/test_own.py", OWN)):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("\n".join(line[4:] for line in text.splitlines()))
    (root / "pytest.ini").write_text("[pytest]\n")
    return pytester


@pytest.mark.parametrize(
    ("options", "selected"),
    [
        ([], 11),
        # Three of its own, and each variant of the two chapters.
        (["--engine", "redis"], 3 + 3 + 1),
        (["--engine", "rediss"], 3 + 3 + 1),
        (["--engine", "etcd"], 2),
        (["--engine", "memory"], 2),
        (["--chapter", "token"], 6),
        (["--engine", "redis", "--chapter", "token"], 3),
        (["-m", "unit"], 1),
        (["--engine", "redis", "-m", "not slow and not calm"], 3 + 1 + 1),
    ],
    ids=str,
)
def test_what_is_asked_for_is_selected_and_nothing_else(
    suite: pytest.Pytester, options: list[str], selected: int
) -> None:
    result = suite.runpytest_inprocess(*PLUGIN, "--rootdir", "memory", "memory", *options)
    result.assert_outcomes(passed=selected, deselected=11 - selected)


def test_an_engine_and_a_chapter_that_do_not_exist_are_refused(suite: pytest.Pytester) -> None:
    for options, complaint in (
        (("--engine", "oracle"), "*no engine has the scheme 'oracle': *memory*"),
        (("--chapter", "verse"), "*the contract has no chapter 'verse': *"),
    ):
        result = suite.runpytest_inprocess(*PLUGIN, *options)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([complaint])
