"""Another process, for tests: does what its arguments say, tells on standard output, goes on at a line of input.

`own` waits for such a line before it begins, so that many can begin at once.

`fall` holds, and at a line of input releases, but is killed before it writes to the state file.

python -m tests.support.sqlite.child hold|wait|own|fall PATH NAME TTL
"""

import os
import signal
import sys
from typing import NoReturn

from fencepost._runtime import threads
from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.core.holder import Holder
from fencepost.core.url import Url
from fencepost.engines.sqlite._sync.engine import Engine
from fencepost.errors import FencepostError


def main() -> None:
    what, path, name, ttl = sys.argv[1:]
    engine = Engine(Url("sqlite", path=path), clock=threads.BootClock(), patience=30.0)
    holder = Holder(os.urandom(8).hex(), f"child {os.getpid()}")
    if what == "own":
        print("ready", flush=True)
        sys.stdin.readline()
    try:
        engine.lease_open(holder, float(ttl))
        request = Request(holder, 1, (Ask(f"{name}{os.getpid()}" if what == "own" else name),))
        answer = engine.claim(request, wait=what == "wait")
        if isinstance(answer, Queued):
            print("queued", flush=True)
            while isinstance(answer, Queued):
                answer = engine.wait(answer, 60.0)
    except FencepostError as error:
        print(type(error).__name__, error, flush=True)
        return
    print("granted", *answer.tokens if isinstance(answer, Granted) else [answer], flush=True)
    sys.stdin.readline()
    if what == "fall" and isinstance(answer, Granted):
        engine._store.execute = die
        engine.release(Claim(holder, 1, request.asks[0], answer.tokens[0]))
    engine.lease_close(holder)
    engine.close()


def die(*_: object) -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("it lives")


if __name__ == "__main__":
    main()
