"""How much work something is, in steps of the interpreter: the same on every machine, however busy."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps_of(work: Callable[[], object]) -> int:
    """How many there are in Python code while `work` runs in this thread."""
    count = 0

    def each(frame: FrameType, kind: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        count += kind == "opcode"
        return each

    before = sys.gettrace()
    sys.settrace(each)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
