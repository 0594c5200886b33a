"""Processes that do as they are told over a pipe: open a contestant, start together, report."""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

from benchmarks.contestant import Contestant

PATIENCE = 60.0
# From the order to the first cycle, and from there to the first that counts: by then all are at it.
HEAD_START_NS = 100_000_000
WARM_UP_NS = 200_000_000


def _serve(pipe: Connection) -> None:
    contestant: Contestant | None = None
    while True:
        match pipe.recv():
            case ("open", kind, place):
                contestant = kind(place)
                pipe.send("open")
            case ("contend", start_ns, until_ns):
                assert contestant is not None
                time.sleep(max(0, start_ns - WARM_UP_NS - time.monotonic_ns()) / 1e9)
                pipe.send(contestant.contend(start_ns, until_ns))
            case ("wake",):
                assert contestant is not None
                pipe.send(contestant.wake(lambda: pipe.send("ready")))
            case ("do", method, *arguments):
                pipe.send(getattr(contestant, method)(*arguments))
            case ("close",):
                assert contestant is not None
                contestant.close()
                contestant = None
                pipe.send("closed")
            case ("end",):
                return


class Troop:
    """A context: the processes are spawned, never forked, and gone after it."""

    def __init__(self, size: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipes: list[Connection] = []
        self._processes: list[Any] = []
        for _ in range(size):
            mine, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs,), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(mine)
            self._processes.append(process)

    def tell(self, *order: object) -> None:
        for pipe in self._pipes:
            pipe.send(order)

    def hear(self) -> list[Any]:
        """One answer of each."""
        return [_answer(pipe) for pipe in self._pipes]

    def ask(self, *order: object) -> list[Any]:
        self.tell(*order)
        return self.hear()

    def share(self, method: str, count: int) -> list[Any]:
        """Have `method` called with a part of `count` in each process, the larger parts first."""
        for number, pipe in enumerate(self._pipes):
            pipe.send(("do", method, (count + len(self._pipes) - 1 - number) // len(self._pipes)))
        return self.hear()

    def with_open(self, kind: Callable[[Any], Any], place: Any, act: Callable[[], Any]) -> Any:
        self.ask("open", kind, place)
        try:
            return act()
        finally:
            self.ask("close")

    def contend(self, seconds: float) -> list[int]:
        """How many cycles each completed in the same `seconds`, all of them being at it before, during and after."""
        start_ns = time.monotonic_ns() + HEAD_START_NS + WARM_UP_NS
        return self.ask("contend", start_ns, start_ns + int(seconds * 1e9))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe, process in zip(self._pipes, self._processes, strict=True):
            try:
                pipe.send(("end",))
            except OSError:
                pass
            process.join(2 if error is None else 0.1)
            if process.is_alive():
                process.kill()
                process.join()
            pipe.close()


def _answer(pipe: Connection) -> Any:
    if not pipe.poll(PATIENCE):
        raise TimeoutError(f"a process did not answer in {PATIENCE:g} s")
    return pipe.recv()
