"""Random adversaries for as long as asked: the tests marked `storm`, round after round with a new seed.

python tools/soak.py [--minutes M] [--seed N] [--engine SCHEME] [--jobs J]

The first failure ends it, with the line that repeats the round. `--minutes 0` is one round.
"""

import argparse
import random
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="of the first round; by default a new one")
    parser.add_argument("--engine", default="")
    parser.add_argument("--jobs", default="6")
    options = parser.parse_args()
    first = random.randrange(10**6) if options.seed is None else options.seed
    engine = ["--engine", options.engine] if options.engine else []
    started_at = time.monotonic()
    seed = first
    while True:
        print(f"round {seed - first + 1}, seed {seed}, {(time.monotonic() - started_at) / 60:.1f} min", flush=True)
        course = ["--seed", str(seed), "--hypothesis-seed", str(seed)]
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", options.jobs, "-m", "storm", *course, *engine]
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status:
            again = f"make soak SEED={seed} MINUTES=0" + (f" ENGINE={options.engine}" if engine else "")
            print(f"seed {seed} failed; this runs it again: {again}")
            return status
        seed += 1
        if time.monotonic() - started_at >= options.minutes * 60:
            print(f"{seed - first} rounds, nothing found")
            return 0


if __name__ == "__main__":
    sys.exit(main())
