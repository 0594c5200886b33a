"""The generated twins."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_committed_twins_are_what_their_sources_give() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools/unasync.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_twin_has_the_line_numbers_of_its_source_and_says_that_it_is_generated() -> None:
    sources = list((ROOT / "src").rglob("_async/*.py"))
    assert sources
    for source in sources:
        twin = source.parent.with_name("_sync") / source.name
        assert twin.read_text().startswith("# Generated from ")
        assert len(twin.read_text().splitlines()) == len(source.read_text().splitlines())


def test_no_twin_awaits_anything() -> None:
    for twin in (ROOT / "src").rglob("_sync/*.py"):
        code = [line for line in twin.read_text().splitlines() if not line.lstrip().startswith(("#", '"""'))]
        assert not any("await " in line or "async def" in line or "async with" in line for line in code), twin
