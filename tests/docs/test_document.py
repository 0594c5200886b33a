"""The pages run as printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
PROMISED = re.compile(r"print\(refusal\) +# (.*)")


def _examples(page: Path) -> str:
    return "\n".join(PYTHON.findall(page.read_text()))


@pytest.mark.parametrize("page", [page for page in PAGES if _examples(page)], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run_from_top_to_bottom(page: Path, tmp_path: Path) -> None:
    examples = _examples(page)
    script = tmp_path / "examples.py"
    script.write_text(f"import tempfile\ntempfile.tempdir = {str(tmp_path)!r}\n{examples}")
    command: list[str | Path] = [sys.executable, "-W", "error", script]
    environment = {
        "FENCEPOST_NAME": "nightly",
        "FENCEPOST_TOKEN": "7",
        "XDG_STATE_HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
    }
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    for line in PROMISED.findall(examples):
        assert line in done.stdout.splitlines()


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
