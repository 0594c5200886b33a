"""The benchmarks, as people run them."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def bench(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
