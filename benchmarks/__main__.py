"""`python -m benchmarks`: fencepost on one host, beside the limit and its peers."""

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks import contended, machine, scaling, uncontended, wakeup
from benchmarks.report import Section, show

EXPERIMENTS: dict[str, Callable[..., Section]] = {
    "a": uncontended.run,
    "b": contended.run,
    "c": wakeup.run,
    "d": scaling.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    facts = machine.facts()
    for what, value in facts.items():
        print(f"{what}: {value}")
    print(f"seed: {options.seed}")
    sections = {}
    for letter in options.only:
        sections[letter] = _run(EXPERIMENTS[letter], options)
        show(sections[letter], pretty=sys.stdout.isatty())
    if options.json is not None:
        result = {letter: section.as_json() for letter, section in sections.items()}
        options.json.write_text(json.dumps({"machine": facts, "seed": options.seed, **result}, indent=2) + "\n")
    missed = [target for section in sections.values() for target in section.targets if not target.met]
    return 1 if missed and options.gate else 0


def _run(experiment: Callable[..., Section], options: argparse.Namespace) -> Section:
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        return experiment(Path(folder), random.Random(options.seed), quick=options.quick)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--only", type=_letters, default="a,b,c,d", metavar="a,b", help="which experiments (default all)"
    )
    parser.add_argument("--quick", action="store_true", help="few samples: to see that it runs, not to quote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--seed", type=int, default=None, help="of the order in the rounds")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = random.randrange(10**6)
    return options


def _letters(text: str) -> list[str]:
    letters = text.split(",")
    unknown = [letter for letter in letters if letter not in EXPERIMENTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no experiment '{unknown[0]}': choose from {', '.join(EXPERIMENTS)}")
    return letters


if __name__ == "__main__":
    sys.exit(main())
