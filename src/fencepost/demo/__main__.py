"""`python -m fencepost.demo`: five workers, one ledger, and a nemesis that stops whoever holds the lock."""

import argparse
import json
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from fencepost.demo import report, trial, view
from fencepost.demo.posting import Fencing

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """0 if the fence held and its absence showed, 1 if not."""
    options = _parse(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with tempfile.TemporaryDirectory(prefix="fencepost-demo-") as folder:
            outcomes = _run(options, Path(folder))
    except KeyboardInterrupt:
        print("interrupted: all workers have ended", file=sys.stderr)
        return INTERRUPTED
    faults = report.faults(outcomes)
    if options.json:
        rounds = [outcome.as_json() for outcome in outcomes]
        print(json.dumps({"seed": options.seed, "ttl": trial.TTL, "rounds": rounds, "faults": faults}, indent=2))
    else:
        view.show_report(outcomes)
    for fault in faults:
        print(f"failed: {fault}", file=sys.stderr)
    return 1 if faults else 0


def _run(options: argparse.Namespace, base: Path) -> list[report.Outcome]:
    if options.json:
        return [_round(options, base, fencing, lambda _: None) for fencing in Fencing]
    print(
        f"{trial.WORKERS} workers add entries to one ledger under one lock (ttl {trial.TTL:g} s); whoever holds it is "
        f"stopped now and then for longer than that (seed {options.seed})"
    )
    with view.watching() as watch:
        return [_round(options, base, fencing, watch) for fencing in Fencing]


def _round(options: argparse.Namespace, base: Path, fencing: Fencing, watch: view.Watch) -> report.Outcome:
    folder = base / fencing.name.lower()
    folder.mkdir()
    return trial.run(fencing, folder, options.seconds, f"{options.seed}/{fencing}", watch)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fencepost.demo", description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.5, help="length of each of the three rounds (default 4.5)")
    parser.add_argument("--seed", type=int, default=None, help="of the thinking times and pauses")
    parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")
    options = parser.parse_args(arguments)
    if options.seconds <= 0:
        parser.error("--seconds must be more than 0")
    if options.seed is None:
        options.seed = random.randrange(10**6)
    return options


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
