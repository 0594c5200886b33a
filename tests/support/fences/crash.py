"""Kills a holder with SIGKILL before every single line of a fence's code, one after another.

To be run in a fresh process: it forks, and must have no threads.
"""

import os
import signal
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import fencepost.fences
from fencepost.errors import Stale

from .desk import NAME
from .place import PLACES

CODE = os.path.dirname(fencepost.fences.__file__)


def kill_before(line: int) -> None:
    """From now on count the lines run in the fences' code, and die before number `line`."""
    left = line

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(CODE):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def crash(kind: str, folder: Path, line: int) -> tuple[bool, list[str]]:
    """One holder killed before `line`: whether it died, and what did not hold afterwards."""
    folder.mkdir()
    hear, tell = os.pipe()
    place = PLACES[kind](folder)
    place.open().add(1, "old")
    place.close()
    child = os.fork()
    if child == 0:
        desk = PLACES[kind](folder).open()
        kill_before(line)
        with desk.fence.guard(NAME, 2) as guarded:
            words = desk.read(guarded)
            os.write(tell, b"r")
            desk.write(guarded, [*words, "new"])
        sys.settrace(None)
        os._exit(0)
    os.close(tell)
    _, status = os.waitpid(child, 0)
    has_read = bool(os.read(hear, 1))
    os.close(hear)

    place = PLACES[kind](folder)
    desk, words = place.open(), place.look()
    mark = desk.fence.highest(NAME)
    wrong = []
    if words not in (["old"], ["old", "new"]):
        wrong.append(f"the content is {words}")
    if words == ["old", "new"] and mark != 2:
        wrong.append(f"the content is new and the mark is {mark}")
    if kind == "file" and has_read and mark != 2:
        wrong.append(f"the content was read and the mark is {mark}")
    try:
        desk.add(1, "late")
        if mark == 2:
            wrong.append("an older token was let in")
    except Stale:
        if mark == 1:
            wrong.append("the mark has changed its mind")
    desk.add(3, "next")
    place.close()
    return os.WIFSIGNALED(status), [f"killed before line {line}: {each}" for each in wrong]


def crash_everywhere(kind: str, folder: Path, report: Connection) -> None:
    """Report how many instants were tried, and what did not hold."""
    wrong: list[str] = []
    line, died = 0, True
    while died:
        line += 1
        died, failures = crash(kind, folder / str(line), line)
        wrong += failures
    report.send((line - 1, wrong))
