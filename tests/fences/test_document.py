"""The page about fences runs as printed."""

import re
import tempfile
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "fences.md"


def test_the_examples_on_the_page_run_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    assert len(blocks) > 5
    exec(compile("\n".join(blocks), str(PAGE), "exec"), {})
    promised = re.findall(r"print\(refusal\) +# (.*)", "\n".join(blocks))
    assert capsys.readouterr().out.splitlines() == promised
