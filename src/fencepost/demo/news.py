"""What a worker tells the demo: one line of JSON per step, written to a pipe before the step is taken."""

import json
import os
from enum import StrEnum
from typing import NamedTuple


class Step(StrEnum):
    WAITING = "waiting"
    HOLDING = "holding"
    THINKING = "thinking"
    WRITING = "writing"
    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    LOST = "lost"
    TROUBLED = "troubled"


class News(NamedTuple):
    step: Step
    token: int = 0
    detail: str = ""


def tell(fd: int, step: Step, token: int = 0, detail: str = "") -> None:
    os.write(fd, json.dumps([step, token, detail]).encode() + b"\n")


def read(line: bytes) -> News:
    step, token, detail = json.loads(line)
    return News(Step(step), token, detail)
