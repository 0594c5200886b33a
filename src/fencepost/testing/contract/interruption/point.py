"""The points at which the interpreter runs signal handlers, and an exception out of one at a chosen point.

A handler runs at the start of a Python function, after a call into C, at the end of each round of a loop, and inside of
a call into C that blocks. Nowhere else: to raise before any bytecode would also do what no signal can, for example
between the entry into a `with` and its block.
"""

import dis
import functools
import inspect
import sys
from types import CodeType, FrameType
from typing import Any, ClassVar, Final

# Of ours, that is not what is interrupted; of Python's, where whatever is raised is reported, and goes no further.
SPARED = ("fencepost.testing", "importlib", "_frozen_importlib")
REPORTED = ("__del__", "_remove")
# What a listener raises is reported, too.
LISTENED = ("fencepost.session.announcer",)
# Those that a handler interrupts before they have done anything.
BLOCKING: Final = frozenset(
    """acquire connect do_handshake get poll read recv recv_into select send sendall sleep wait write""".split()  # noqa: SIM905
)
# They begin where they are made, which is a call, and go on without a handler, or to be closed.
GENERATORS: Final = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
AGAIN = frozenset(
    number for name, number in dis.opmap.items() if "JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name
)


@functools.cache
def has_rounds(code: CodeType) -> bool:
    """Whether it is worth being told of each of its bytecodes, which is slow."""
    return any(each.opcode in AGAIN for each in dis.get_instructions(code))


class Stop(Exception):
    """What a handler raises."""


class Halt(BaseException):
    """What a handler raises that is not to be caught on the way, as `KeyboardInterrupt` is not."""


KINDS = (Stop, Halt)


class Points:
    """Counts the points that this thread comes to inside of the block, and raises at that of the number `at`."""

    kinds: ClassVar = KINDS

    def __init__(self, at: int = -1, kind: type[BaseException] = Stop) -> None:
        self.seen = 0
        # Where it was raised.
        self.where: str | None = None
        self._at = at
        self._kind = kind
        self._last: dict[FrameType, int] = {}
        self._outside: FrameType | None = None

    def __enter__(self) -> "Points":
        self._before = sys.gettrace(), sys.getprofile()
        self._outside = sys._getframe(1)
        sys.settrace(self._trace)
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *_: object) -> None:
        trace, profile = self._before
        sys.setprofile(profile)
        sys.settrace(trace)
        # Frames keep whatever is in them.
        self._last.clear()
        self._outside = None

    def _profile(self, frame: FrameType, kind: str, argument: Any) -> None:
        if self.where is not None or kind in ("return", "c_exception"):
            return
        if kind == "call" and frame.f_code.co_flags & GENERATORS:
            return
        name = frame.f_code.co_name if kind == "call" else getattr(argument, "__name__", "")
        if kind == "c_call" and name not in BLOCKING:
            return
        self._come_to(frame, f"{kind} {name}")

    def _trace(self, frame: FrameType, kind: str, argument: Any) -> Any:
        if self.where is not None or frame.f_globals.get("__name__", "").startswith(SPARED):
            return None
        if kind == "call":
            if not has_rounds(frame.f_code):
                return None
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif kind == "opcode":
            before, self._last[frame] = self._last.get(frame, -1), frame.f_lasti
            if before > frame.f_lasti and frame.f_code.co_code[before] in AGAIN:
                self._come_to(frame, "next round")
        elif kind == "return":
            self._last.pop(frame, None)
        return self._trace

    def wants(self, frame: FrameType, what: str) -> bool:
        """Whether to count that point. The start of `__exit__` is spared: no Python code can be safe there."""
        return what != "call __exit__" or not frame.f_globals.get("__name__", "").startswith("fencepost.primitives")

    def _come_to(self, frame: FrameType, what: str) -> None:
        if not self.wants(frame, what) or self._is_out_of_reach(frame):
            return
        self.seen += 1
        if self.seen == self._at + 1:
            self.where = f"point {self._at}: {what} at {frame.f_code.co_filename}:{frame.f_lineno}"
            raise self._kind(self.where)

    def _is_out_of_reach(self, frame: FrameType) -> bool:
        if frame.f_globals.get("__name__", "").startswith(SPARED):
            return True
        above: FrameType | None = frame
        while above is not None and above is not self._outside:
            if above.f_code.co_name in REPORTED or above.f_globals.get("__name__") in LISTENED:
                return True
            above = above.f_back
        return False
