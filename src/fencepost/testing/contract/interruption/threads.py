"""Raise KeyboardInterrupt at the n-th line that an operation runs inside the library.

One line is spared: the first of `__exit__`. No Python code can be safe there, because the interpreter has
not entered its `try` yet; what an interruption leaves there ends with the session.
"""

import itertools
import linecache
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, TypeAlias

from fencepost.testing.contract.interruption import point
from fencepost.testing.contract.interruption.point import KINDS

Interruption = KeyboardInterrupt
Interrupted: TypeAlias = Callable[[Callable[[], object]], str | None]
# Lines between two that `steps` names.
STRIDE = 12
# What is raised comes out of the call itself.
LOSES_ANSWERS = False

# The layers where an interruption must leave nothing behind. The engine below is the other side: what it was told
# is told, and an interruption inside of it is a call whose outcome is unknown, like one whose reply is lost.
LAYERS = ("fencepost.session", "fencepost.primitives")


def interrupt_at(step: int, work: Callable[[], object]) -> str | None:
    """Run `work`, with Ctrl-C at its `step`-th line: where that was, or None if it ended before."""
    seen = 0
    reached: str | None = None
    entered: set[tuple[int, int]] = set()

    def spared(frame: FrameType) -> bool:
        """Lines where the interpreter takes no signal, so that raising there would do what Ctrl-C can not."""
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if line.startswith("with "):
            # Leaving the block shows as its first line again; raising then would leave it without its exit.
            place = (id(frame), frame.f_lineno)
            again = place in entered
            entered.add(place)
            return again
        return line == "try:" or (frame.f_code.co_name == "__exit__" and "block" not in frame.f_locals)

    def each_line(frame: FrameType, kind: str, argument: Any) -> Any:
        nonlocal seen, reached
        if kind == "line" and reached is None and not spared(frame):
            if seen == step:
                reached = f"step {step}: {frame.f_code.co_filename}:{frame.f_lineno}"
                sys.settrace(None)
                raise KeyboardInterrupt
            seen += 1
        return each_line

    def each_call(frame: FrameType, kind: str, argument: Any) -> Any:
        return each_line if frame.f_globals.get("__name__", "").startswith(LAYERS) else None

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        work()
    except KeyboardInterrupt:
        if reached is None:
            raise
    finally:
        sys.settrace(before)
    return reached


def every_step(work: Callable[[], object], check: Callable[[str], None]) -> int:
    """Interrupt `work` at step 0, 1, 2, … until it has no more steps, checking after each. How many there were."""
    step = 0
    while where := interrupt_at(step, work):
        check(where)
        step += 1
    return step


def steps(dice: random.Random) -> Iterator[int]:
    """Some of them, as many as there are."""
    return itertools.count(dice.randrange(STRIDE), STRIDE)


class Points(point.Points):
    def strike(self, work: Callable[[], object]) -> str | None:
        """Do the work, and have come out of it what is raised at the point: where that was, if it came to it."""
        try:
            with self:
                work()
        except KINDS:
            pass
        else:
            assert self.where is None, f"nothing came out of it, after {self.where}"
        return self.where


def bystander() -> AbstractContextManager[None]:
    """What is begun inside is not interrupted: here, no other thread is in any case."""
    return nullcontext()


@contextmanager
def reported() -> Iterator[list[str]]:
    """Exceptions that went nowhere, and are not of ours."""
    found: list[str] = []
    before = sys.unraisablehook, threading.excepthook

    def unraisable(what: "sys.UnraisableHookArgs") -> None:
        if not isinstance(what.exc_value, (*KINDS, ResourceWarning)):
            found.append(f"{what.exc_value!r} in {what.object!r}")

    def in_thread(what: threading.ExceptHookArgs) -> None:
        found.append(f"{what.exc_value!r} in {what.thread!r}")

    sys.unraisablehook, threading.excepthook = unraisable, in_thread
    try:
        yield found
    finally:
        sys.unraisablehook, threading.excepthook = before
