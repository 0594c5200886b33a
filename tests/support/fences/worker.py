"""What the other processes of the race and fault tests run."""

import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from fencepost.errors import Stale
from fencepost.fences import FileFence

from .desk import NAME
from .place import PLACES


def add_words(
    kind: str,
    folder: Path,
    worker: int,
    rounds: int,
    last: "Synchronized[int]",
    start: Barrier,
    report: Connection,
) -> None:
    """Add words with ever higher tokens, such as a lock hands to holders that overlap all the time."""
    desk = PLACES[kind](folder).open()
    acknowledged, refused = [], 0
    start.wait()
    for turn in range(rounds):
        with last.get_lock():
            last.value += 1
            token = last.value
        word = f"{worker}-{turn}"
        try:
            with desk.fence.guard(NAME, token) as guarded:
                seen = desk.read(guarded)
            with desk.fence.guard(NAME, token) as guarded:
                desk.write(guarded, [*seen, word])
        except Stale:
            refused += 1
        else:
            acknowledged.append(word)
    report.send((acknowledged, refused))


def write_in_guard_and_wait(kind: str, folder: Path, token: int, pipe: Connection) -> None:
    """Write inside a guard, say so, and stay there until told or killed."""
    desk = PLACES[kind](folder).open()
    with desk.fence.guard(NAME, token) as guarded:
        desk.write(guarded, [*desk.read(guarded), "never"])
        pipe.send("inside")
        pipe.recv()


def read_and_write_when_told(kind: str, folder: Path, token: int, pipe: Connection) -> None:
    """Read under a guard, wait, write under another; report what came of it."""
    desk = PLACES[kind](folder).open()
    with desk.fence.guard(NAME, token) as guarded:
        seen = desk.read(guarded)
    pipe.send("read")
    pipe.recv()
    try:
        with desk.fence.guard(NAME, token) as guarded:
            desk.write(guarded, [*seen, "late"])
        pipe.send("written")
    except Stale as refusal:
        pipe.send(refusal)


def fork_inside_guard(path: Path, pipe: Connection) -> None:
    """Fork a child inside a guard, and let it report what it reads under a guard of its own."""
    fence = FileFence(path)
    with fence.guard(NAME, 1) as file:
        file.write(b"draft")
        child = os.fork()
        if child == 0:
            try:
                pipe.send(fence.read(NAME, 2))
            except FileNotFoundError:
                pipe.send("read before the parent had written")
            os._exit(0)
        file.write(b"final")
    os.waitpid(child, 0)


def fork_a_child_that_leaves(kind: str, folder: Path, raising: bool, pipe: Connection) -> None:
    """Fork a child inside a guard that leaves it, by an exception or at its end; then write there, when told."""
    desk = PLACES[kind](folder).open()
    child = -1
    try:
        with desk.fence.guard(NAME, 1) as guarded:
            child = os.fork()
            if child == 0 and raising:
                raise SystemExit
            if child:
                os.waitpid(child, 0)
                pipe.send("left")
                pipe.recv()
                desk.write(guarded, [*desk.read(guarded), "parent"])
    finally:
        if child == 0:
            os._exit(0)
    pipe.send("written")


def claim_in_a_forked_child(make: Callable[..., Any], url: str, pipe: Connection) -> None:
    """Claim, fork, and let the child claim with the same fence: what came of it."""
    fence = make(url)
    fence.claim(NAME, 1)
    child = os.fork()
    if child == 0:
        try:
            fence.claim(NAME, 2)
            pipe.send(fence.highest(NAME))
        except Exception as error:
            pipe.send(repr(error))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    fence.claim(NAME, 3)
    pipe.send(fence.highest(NAME))
