"""Show the schedules of these seeds on the engine in memory: python -m fencepost.testing.simulation SEED…"""

import sys

from fencepost.testing.simulation import LawBroken, simulate


def main(seeds: list[str]) -> int:
    if not seeds:
        print(__doc__, file=sys.stderr)
        return 64
    broken = 0
    for seed in seeds:
        try:
            print(simulate(int(seed)))
            print(f"seed {seed}: every law was kept")
        except LawBroken as error:
            print(error)
            broken += 1
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
