"""The pytest plugin, in a run of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]
PLUGIN = "fencepost.testing.plugin"


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester


def test_the_world_is_a_fixture(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import fencepost

        def test_it(fencepost_world):
            with fencepost_world.connect() as session:
                grant = session.lock("a").acquire()
                fencepost_world.expire("a")
                assert not grant.held
        """
    )
    run.runpytest("-p", PLUGIN).assert_outcomes(passed=1)


def test_the_asynchronous_world_is_a_fixture(run: pytest.Pytester) -> None:
    run.makepyfile(
        """
        import asyncio
        import pytest

        @pytest.mark.asyncio
        async def test_it(async_fencepost_world):
            async with async_fencepost_world.connect() as session:
                grant = await session.lock("a").acquire()
                await async_fencepost_world.expire("a")
                assert not grant.held

        @pytest.mark.asyncio
        async def test_sessions_may_be_left_open(async_fencepost_world):
            await async_fencepost_world.connect().lock("a").acquire()
        """
    )
    run.runpytest(
        "-p", PLUGIN, "-p", "pytest_asyncio.plugin", "-W", "error", "-o", "asyncio_default_fixture_loop_scope=function"
    ).assert_outcomes(passed=2)


@pytest.fixture
def missing(run: pytest.Pytester) -> pytest.Pytester:
    run.makepyfile(
        """
        import pytest
        from fencepost.testing import find_binary

        @pytest.fixture(scope="module")
        def server():
            return find_binary("no-such-server", "no-such-package")

        def test_one(server): ...
        def test_two(server): ...
        def test_python(): assert find_binary("python3", "python3").endswith("python3")
        """
    )
    return run


def test_tests_without_their_server_are_skipped_and_counted(
    missing: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    result = missing.runpytest("-p", PLUGIN)
    result.assert_outcomes(passed=1, skipped=2)
    result.stdout.fnmatch_lines(
        ["2 tests skipped: no-such-server is missing: apt-get install no-such-package"], consecutive=False
    )


def test_a_missing_server_is_an_error_in_ci(missing: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    result = missing.runpytest("-p", PLUGIN)
    result.assert_outcomes(passed=1, errors=2)
    result.stdout.fnmatch_lines(["*FileNotFoundError: no-such-server is missing: apt-get install no-such-package"])


def test_a_server_is_found_in_the_folders_named(tmp_path: Path) -> None:
    from fencepost.testing import find_binary

    binary = tmp_path / "15" / "bin" / "some-server"
    binary.parent.mkdir(parents=True)
    binary.touch(mode=0o755)
    assert find_binary("some-server", "some-package", folders=[f"{tmp_path}/*/bin"]) == str(binary)


def test_the_plugin_brings_neither_hypothesis_nor_worlds_where_it_is_not_used() -> None:
    unwanted = {"hypothesis", "pytest_asyncio", "fencepost.testing._sync.world"}
    check = f"import sys, {PLUGIN}; assert not {unwanted} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", check], check=True)


CONTRACT = """
    import pytest
    from fencepost.testing import contract
    from fencepost.testing.contract.need import lacks, needs

    @pytest.fixture({params})
    def site():
        return contract.Site("memory://")

    @needs("cells")
    def test_what_it_has(site):
        assert site.traits.cells

    @needs("cells", scope="network")
    def test_what_it_has_not(site):
        raise AssertionError("not for this engine")

    @lacks("cells")
    def test_what_others_lack(site):
        raise AssertionError("not for this engine")
    """


def test_what_an_engine_does_not_claim_to_do_is_deselected(run: pytest.Pytester) -> None:
    run.makepyfile(CONTRACT.format(params="params=['memory']"))
    run.runpytest("-p", PLUGIN, "--strict-markers").assert_outcomes(passed=1, deselected=2)


def test_a_site_that_does_not_say_which_engine_it_is_of_is_refused(run: pytest.Pytester) -> None:
    run.makepyfile(CONTRACT.format(params=""))
    result = run.runpytest("-p", PLUGIN)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*which engine is this about?*params=*"])
