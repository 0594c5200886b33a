"""The second check of a history: porcupine, a linearizability checker in Go, with a model of its own.

The program is in `tools/porcupine`. It looks for an order of all acquires and releases of a name in which a correct
lock gives these answers. So it also finds what no two of them show.
"""

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fencepost.testing.storm.check import Finding
from fencepost.testing.storm.history import Event
from fencepost.testing.storm.turn import Turn, turns

# Hundreds of times what a storm needs. What is not decided by then is a finding.
TIMEOUT = 30.0
# For the program to start and to end on a busy machine, beyond the time that its `check` takes at most.
BESIDES = 60.0


def recheck(events: Sequence[Event], program: str, *, twins: bool = False, timeout: float = TIMEOUT) -> list[Finding]:
    """The names for which `program` found that there is no order, or could not decide it in `timeout` seconds."""
    command = [program, "-timeout", f"{timeout:.9f}s", *(["-twins"] if twins else [])]
    lines = "".join(json.dumps(each) + "\n" for each in operations(turns(events)))
    try:
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, timeout=2 * timeout + BESIDES, check=False
        )
    except subprocess.TimeoutExpired as error:
        return [Finding("not decided", "", str(error))]
    found = [_finding(json.loads(line)) for line in done.stdout.splitlines()]
    if done.returncode != (1 if found else 0):
        what = f"{program} ended with {done.returncode}: {done.stderr.strip()}"
        found.append(Finding("not decided", "", what))
    return sorted(found)


def operations(every: Iterable[Turn]) -> Iterator[dict[str, Any]]:
    """What was granted, as operations that took effect at one instant from `call` to `return`, in nanoseconds.

    An acquire took effect after the ask, and before the grant was seen to be held. A release took effect after the
    grant was seen to be held for the last time: no more is known of one that was lost, or whose holder was killed.
    An ask that nobody saw granted is left out. If it was granted after all, that could only exclude others.
    """
    for turn in every:
        for name in turn.names if turn.granted else ():
            what = {
                "name": name,
                "owner": turn.who,
                "mode": turn.mode,
                "limit": turn.limit,
                "token": turn.token(name),
            }
            yield {"do": "acquire", **what, "call": _nanoseconds(turn.asked_at), "return": _nanoseconds(turn.since)}
            yield {"do": "release", **what, "call": _nanoseconds(turn.until), "return": _nanoseconds(turn.ended_at)}


def _nanoseconds(at: float) -> int:
    return round(at * 1e9)


def _finding(verdict: dict[str, Any]) -> Finding:
    if verdict["result"] != "Illegal":
        return Finding("not decided", verdict["name"], "found no order in time, nor that there is none")
    stuck = verdict["stuck"]
    since, until = stuck["call"] / 1e9, stuck["return"] / 1e9
    what = f"{stuck['do']} by {stuck['owner']} ({stuck['mode']}, token {stuck['token']})"
    return Finding("no order", verdict["name"], f"{what} fits nowhere from {since:.3f} to {until:.3f}")
