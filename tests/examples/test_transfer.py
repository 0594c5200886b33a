"""The transfer example: many processes, both directions, no deadlock and no lost money."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COUNT = 8


def test_money_moves_both_ways_from_many_processes_without_a_deadlock(tmp_path: Path) -> None:
    sys.path.insert(0, str(ROOT))
    try:
        from examples.transfer.bank import Bank
    finally:
        sys.path.remove(str(ROOT))
    path, url = str(tmp_path / "bank.db"), f"sqlite://{tmp_path / 'locks.db'}"
    bank = Bank(path)
    for name in ("anna", "bela", "cleo"):
        bank.open(name, 100)
    ways = [("anna", "bela"), ("bela", "anna"), ("bela", "cleo"), ("cleo", "bela"), ("cleo", "anna"), ("anna", "cleo")]
    processes = [
        subprocess.Popen([sys.executable, "-m", "examples.transfer", url, path, *way, str(COUNT)], cwd=ROOT)
        for way in ways
    ]
    assert [process.wait(100) for process in processes] == [0] * len(ways)
    # As much came to everybody as went: were one update lost, or one transfer done half, it would show.
    assert [bank.balance(name) for name in ("anna", "bela", "cleo")] == [100, 100, 100]
