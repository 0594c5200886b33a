"""`python -m examples.transfer URL BANK SOURCE TARGET COUNT`: move one unit, that often."""

import sys

import fencepost
from examples.transfer.bank import Bank


def main(url: str, path: str, source: str, target: str, count: int) -> None:
    bank = Bank(path)
    with fencepost.connect(url) as session:
        both = session.lock_all([source, target], timeout=60)
        for _ in range(count):
            with both as grants:
                bank.transfer(source, target, 1, grants.tokens)


if __name__ == "__main__":
    url, path, source, target, count = sys.argv[1:]
    main(url, path, source, target, int(count))
