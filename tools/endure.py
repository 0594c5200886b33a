"""Counts that no test has the time for: grants, cancellations and kills. `make endure ENGINE=redis GRANTS=1000000`.

Grants: every token of a name is higher than the one before, as whoever guards something would see them.
Cancellations: of tasks at any moment of an acquire. Leases are long and kept, so what one of them left would stay: each
name is still there for somebody else.
Kills: of processes at any moment, from their first import of a session on. Whoever is left gets the lock at once.

The first thing that is not so ends it, with the seed.
"""

import argparse
import asyncio
import multiprocessing
import random
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, contextmanager
from typing import NamedTuple

from fencepost import AcquireTimeout, AsyncSession, Session, connect, connect_async
from fencepost.testing.contract import SITES

EVERYWHERE = "memory sqlite redis redlock etcd zookeeper consul postgresql postgresql+advisory".split()  # noqa: SIM905
NAMES = [f"name {number}" for number in range(6)]
SESSIONS, FLOWS = 3, 12
# Longer than anything takes: what is left behind is not found to have ended by itself.
TTL = 60.0
AT_ONCE = 20.0
# Within how many seconds a task is cancelled, by turns: on its way, as it waits, as it holds.
HAZARDS = (0.0005, 0.003, 0.02)
ROUND = 500
# Leases of those who are killed, and for how long one of them lives.
SHORT_TTL = 2.0
LIVES = 0.05


class Resource:
    """Has seen the tokens of each name, and takes none that is not higher than the last."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = defaultdict(int)
        self.count = 0
        self._lock = threading.Lock()

    def show(self, name: str, token: int) -> None:
        with self._lock:
            if token <= self.seen[name]:
                raise AssertionError(f"token {token} of '{name}' after {self.seen[name]}")
            self.seen[name] = token
            self.count += 1


class Progress:
    """A line on standard error, now and then."""

    def __init__(self, what: str, whole: int) -> None:
        self._what, self._whole = what, whole
        self._told_at = 0.0

    def __call__(self, done: int) -> None:
        if sys.stderr.isatty() and (time.monotonic() - self._told_at > 1 or done >= self._whole):
            self._told_at = time.monotonic()
            print(f"\r{self._what}: {done:,} of {self._whole:,}", end="", file=sys.stderr, flush=True)


class Counted(NamedTuple):
    what: str
    number: int
    seconds: float
    more: str = ""

    def __str__(self) -> str:
        return f"{self.number:,} {self.what} in {self.seconds:.0f} s{self.more}"


def grants(url: str, wanted: int, seed: int, progress: Progress) -> str:
    """Half of them by tasks, half by threads."""
    resource = Resource()
    asyncio.run(_by_tasks(url, wanted // 2, seed, resource, progress))
    _by_threads(url, wanted, seed, resource, progress)
    return ", each token higher than the one before"


async def _by_tasks(url: str, wanted: int, seed: int, resource: Resource, progress: Progress) -> None:
    async def flow(session: AsyncSession, dice: random.Random) -> None:
        while resource.count < wanted:
            name = dice.choice(NAMES)
            async with session.lock(name) as grant:
                resource.show(name, grant.token)
            progress(resource.count)

    async with AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(connect_async(url, ttl=TTL)) for _ in range(SESSIONS)]
        async with asyncio.TaskGroup() as group:
            for number in range(FLOWS):
                group.create_task(flow(sessions[number % SESSIONS], random.Random(f"{seed} {number}")))


def _by_threads(url: str, wanted: int, seed: int, resource: Resource, progress: Progress) -> None:
    failed = threading.Event()

    def flow(session: Session, dice: random.Random) -> None:
        try:
            while resource.count < wanted and not failed.is_set():
                name = dice.choice(NAMES)
                with session.lock(name) as grant:
                    resource.show(name, grant.token)
                progress(resource.count)
        except BaseException:
            failed.set()
            raise

    with ExitStack() as stack:
        sessions = [stack.enter_context(connect(url, ttl=TTL)) for _ in range(SESSIONS)]
        pool = stack.enter_context(ThreadPoolExecutor(FLOWS))
        dice = (random.Random(f"{seed} {number}") for number in range(FLOWS))
        flows = [pool.submit(flow, sessions[number % SESSIONS], each) for number, each in enumerate(dice)]
        for each in flows:
            each.result()


def cancellations(url: str, wanted: int, seed: int, progress: Progress) -> str:
    return asyncio.run(_cancellations(url, wanted, seed, progress))


async def _cancellations(url: str, wanted: int, seed: int, progress: Progress) -> str:
    dice = random.Random(seed)
    done = granted = 0

    async def attempt(session: AsyncSession, name: str, within: float) -> None:
        nonlocal done, granted
        try:
            async with asyncio.timeout(within), session.lock(name):
                granted += 1
                await asyncio.sleep(within)
        except TimeoutError:
            done += 1

    async with AsyncExitStack() as stack:
        sessions = [await stack.enter_async_context(connect_async(url, ttl=TTL)) for _ in range(SESSIONS + 1)]
        other = sessions.pop()
        while done < wanted:
            hazard = dice.choice(HAZARDS)
            for _ in range(ROUND // FLOWS):
                who = [(dice.choice(sessions), dice.choice(NAMES), dice.uniform(0, hazard)) for _ in range(FLOWS)]
                await asyncio.gather(*(attempt(*each) for each in who))
            for name in NAMES:
                async with other.lock(name, timeout=AT_ONCE):
                    pass
            progress(done)
    return f", {granted:,} of them of a holder; no name was left held or queued for"


def _live(url: str, name: str, seed: float) -> None:
    """A process that holds and waits until it is killed."""
    dice = random.Random(seed)
    session = connect(url, ttl=SHORT_TTL)
    while True:
        with session.lock(name):
            time.sleep(dice.uniform(0, LIVES / 10))


def kills(url: str, wanted: int, seed: int, progress: Progress) -> str:
    dice, resource = random.Random(seed), Resource()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["fencepost", "tools.endure"])
    longest, killed = 0.0, 0
    with connect(url, ttl=TTL) as session:
        while killed < wanted:
            name = dice.choice(NAMES[:2])
            living = [context.Process(target=_live, args=(url, name, dice.random()), daemon=True) for _ in range(4)]
            for process in living:
                process.start()
            for process in living:
                time.sleep(dice.uniform(0, LIVES))
                process.kill()
            for process in living:
                process.join()
                process.close()
            killed += len(living)
            began_at = time.monotonic()
            with session.lock(name, timeout=AT_ONCE) as grant:
                resource.show(name, grant.token)
            longest = max(longest, time.monotonic() - began_at)
            progress(killed)
    return f"; the longest wait for the next holder was {longest:.2f} s"


COUNTS: dict[str, Callable[[str, int, int, Progress], str]] = {
    "grants": grants,
    "cancellations": cancellations,
    "kills": kills,
}


def count(what: str, url: str, wanted: int, seed: int) -> Counted:
    began_at = time.monotonic()
    more = COUNTS[what](url, wanted, seed, Progress(what, wanted))
    return Counted(what, wanted, time.monotonic() - began_at, more)


@contextmanager
def _named(scheme: str, what: str, seed: int) -> Iterator[None]:
    try:
        yield
    except (AssertionError, AcquireTimeout) as error:
        raise SystemExit(f"{scheme}, {what}, seed {seed}: {error}") from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine", nargs="*", help="such as redis; all of them if left out")
    for what in COUNTS:
        parser.add_argument(f"--{what}", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    options = parser.parse_args()
    for scheme in options.engine or EVERYWHERE:
        with SITES[scheme]() as site:
            for what in COUNTS:
                wanted = getattr(options, what)
                if wanted and not (what == "kills" and site.traits.scope == "process"):
                    with _named(scheme, what, options.seed):
                        print(f"{scheme}: {count(what, site.url, wanted, options.seed)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
