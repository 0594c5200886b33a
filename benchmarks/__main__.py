"""`python -m benchmarks [PLACE]`: fencepost beside the limit and its peers.

A place is a package here with its experiments by letter in `EXPERIMENTS`: `host`, or an engine that has a server.
"""

import argparse
import json
import pkgutil
import random
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import benchmarks
from benchmarks import machine
from benchmarks.report import Section, show

Experiment = Callable[..., Section]
PLACES = tuple(sorted(place.name for place in pkgutil.iter_modules(benchmarks.__path__) if place.ispkg))


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse(arguments)
    facts = machine.facts()
    for what, value in facts.items():
        print(f"{what}: {value}")
    print(f"seed: {options.seed}")
    sections = {}
    for letter in options.only:
        sections[letter] = _run(options.experiments[letter], options)
        show(sections[letter], pretty=sys.stdout.isatty())
    if options.json is not None:
        result = {letter: section.as_json() for letter, section in sections.items()}
        options.json.write_text(json.dumps({"machine": facts, "seed": options.seed, **result}, indent=2) + "\n")
    missed = [target for section in sections.values() for target in section.targets if not target.met]
    return 1 if missed and options.gate else 0


def _run(experiment: Experiment, options: argparse.Namespace) -> Section:
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as folder:
        return experiment(Path(folder), random.Random(options.seed), quick=options.quick)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("place", nargs="?", choices=PLACES, default="host", help="what to measure (default host)")
    parser.add_argument("--only", metavar="a,b", help="which experiments (default all)")
    parser.add_argument("--quick", action="store_true", help="few samples: to see that it runs, not to quote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--seed", type=int, default=None, help="of the order in the rounds")
    parser.add_argument("--gate", action="store_true", help="exit with 1 if a target is missed")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = random.randrange(10**6)
    options.experiments = _experiments(options.place)
    options.only = options.only.split(",") if options.only else list(options.experiments)
    for letter in options.only:
        if letter not in options.experiments:
            parser.error(f"no experiment '{letter}': choose from {', '.join(options.experiments)}")
    return options


def _experiments(place: str) -> dict[str, Experiment]:
    found: dict[str, Experiment] = import_module(f"benchmarks.{place}").EXPERIMENTS
    return found


if __name__ == "__main__":
    sys.exit(main())
