"""Plant faults, one at a time, and see which tests find them: `make mutants`, or `make mutants TARGET=redis`.

A table in tests/mutants lists the faults of one engine, fence or layer: a text that stands once in a file, and what to
put there. Each is tried in a copy of the tree, first by the tests of `make test` that concern its place, then by those
of `make test-all`. The law that it breaks begins with a chapter of the contract where there is one for it: that chapter
comes first. A fault that no test finds is a missing test, or changes nothing that anybody could see.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from fencepost.testing.contract import LAWS

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "tests" / "mutants"
FOLDERS = ("src", "tests", "tools", "docs", "examples", "benchmarks")
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "Makefile")
TIERS = {"make test": "not slow and not calm", "make test-all": "slow and not calm"}
# What hangs is found, too: a test that takes that long, or all of them together, in seconds.
HANGS = 150
LONGEST = 2400
NO_TESTS = 5


class Mutant(NamedTuple):
    table: str
    target: str
    number: int
    file: str
    old: str
    new: str
    law: str

    def __str__(self) -> str:
        return f"{self.table}/{self.target} {self.number}"


def mutants(wanted: list[str]) -> Iterator[Mutant]:
    for path in sorted(TABLES.glob("*/*.toml")):
        table = path.parent.name
        if not wanted or path.stem in wanted or f"{table}/{path.stem}" in wanted:
            for number, each in enumerate(tomllib.loads(path.read_text())["mutant"], 1):
                yield Mutant(table, path.stem, number, **each)


def likely_tests_of(mutant: Mutant) -> list[str]:
    """What most likely finds it, for pytest: seconds of tests before minutes of others."""
    if mutant.target == "registry":
        return ["tests/primitives/test_once.py"]
    if mutant.table == "fences":
        return [*tests_of(mutant), "-k", mutant.target]
    if mutant.target == "session":
        return ["tests/core", "tests/session", "-m", "unit"]
    law = mutant.law.partition(":")[0]
    return ["tests/contract/test_contract.py", *_engine(mutant), "--chapter", law] if law in LAWS else []


def tests_of(mutant: Mutant) -> list[str]:
    """What concerns the place, for pytest."""
    if mutant.table == "fences":
        own = {"trigger": "tests/fences/sql/test_trigger.py"}
        folders = [own.get(mutant.target, f"tests/fences/{mutant.target}"), f"tests/drivers/{mutant.target}"]
        more = ["tests/primitives/test_once.py"] if mutant.target == "registry" else []
        several = [str(each.relative_to(ROOT)) for each in sorted((ROOT / "tests/fences").glob("test_*.py"))]
        return [*(folder for folder in folders if (ROOT / folder).exists()), *several, *more]
    if mutant.target == "session":
        layers = ["core", "session", "primitives", "runtime", "testing", "contract"]
        return [*(f"tests/{layer}" for layer in layers), "-k", "not contract or memory or sqlite"]
    folder = _engine(mutant)[-1].partition("+")[0]
    places = [f"tests/engines/{folder}", "tests/contract", f"tests/drivers/{folder}", "tests/testing", "tests/storm"]
    return [*(place for place in places if (ROOT / place).exists()), *_engine(mutant)]


def _engine(mutant: Mutant) -> list[str]:
    return ["--engine", "postgresql+advisory" if mutant.target == "advisory" else mutant.target]


def plant(mutant: Mutant, tree: Path) -> None:
    for folder in FOLDERS:
        # With what Python has compiled, which is found by the times of the files.
        shutil.copytree(ROOT / folder, tree / folder)
    for each in FILES:
        shutil.copy(ROOT / each, tree / each)
    file = tree / mutant.file
    text = file.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant}: its text stands {text.count(mutant.old)} times in {mutant.file}")
    file.write_text(text.replace(mutant.old, mutant.new))
    if "_async" in file.parts:
        subprocess.run([sys.executable, "tools/unasync.py"], cwd=tree, check=True, capture_output=True)


def found_by(tests: list[str], tree: Path, marks: str, processes: int) -> str:
    """The first of the tests that fails, or nothing."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", str(processes), "-m", marks, "-p", "no:cacheprovider"]
    command += ["--timeout", str(HANGS)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "CI": "true"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with (tree / "output").open("w+") as output:
        try:
            ended = subprocess.run(
                [*command, *tests],
                cwd=tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=LONGEST,
            )
        except subprocess.TimeoutExpired:
            return "hangs"
        output.seek(0)
        lines = output.read().splitlines()
    if ended.returncode in (0, NO_TESTS):
        return ""
    failed = [line.split(" - ")[0] for line in lines if line.startswith(("FAILED", "ERROR"))]
    return failed[0].partition(" ")[2] if failed else " ".join(lines[-3:])


def judge(mutant: Mutant, processes: int, tiers: list[str]) -> tuple[Mutant, str, str]:
    with tempfile.TemporaryDirectory(prefix="fencepost-mutant-") as folder:
        tree = Path(folder)
        try:
            plant(mutant, tree)
        except (ValueError, OSError, subprocess.CalledProcessError) as error:
            return mutant, "does not fit", str(error)
        likely = likely_tests_of(mutant)
        for tier, tests in [("make test", likely), *((tier, tests_of(mutant)) for tier in tiers)]:
            if tests and (test := found_by(tests, tree, TIERS[tier], processes)):
                return mutant, tier, test
    return mutant, "survives", mutant.law


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", nargs="*", help="such as redis, fences/redis, session; everything if left out")
    parser.add_argument("--number", type=int, action="append", help="only these of the targets")
    # Tests mostly wait. One process for each fault ends at the first test that finds it, and no other test was begun.
    parser.add_argument("--at-once", type=int, default=6, help="how many faults are tried at the same time")
    parser.add_argument("--processes", type=int, default=0, help="more test processes for each, beside one")
    parser.add_argument("--likely", action="store_true", help="only the tests that most likely find each")
    parser.add_argument("--quick", action="store_true", help="only the tests of `make test`")
    options = parser.parse_args()
    chosen = [each for each in mutants(options.target) if not options.number or each.number in options.number]
    tiers = [] if options.likely else list(TIERS)[: 1 if options.quick else None]
    counts: dict[str, int] = {}
    began = time.monotonic()
    with ThreadPoolExecutor(options.at_once) as pool:
        judged = [pool.submit(judge, each, options.processes, tiers) for each in chosen]
        for mutant, outcome, detail in (each.result() for each in as_completed(judged)):
            counts[outcome] = counts.get(outcome, 0) + 1
            print(f"{time.monotonic() - began:6.0f} s  {mutant}: {outcome}: {detail}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())) or "no such target")
    return 1 if counts.keys() - TIERS.keys() else 0


if __name__ == "__main__":
    sys.exit(main())
