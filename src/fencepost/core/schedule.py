"""When something is due: ticks that every node works out for itself, and all alike.

A tick is a whole number of seconds since 1970, in UTC, so that nodes in several time zones mean the same one.
"""

import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, Protocol

from fencepost.core.duration import MOST_SECONDS
from fencepost.core.name import check_text
from fencepost.core.shown import shown

# Far enough for the 29th of February on a certain weekday.
MOST_DAYS = 366 * 29
FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
MONTHS = {
    name: str(number)
    for number, name in enumerate(
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1
    )
}
WEEKDAYS = {name: str(number) for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}


class Schedule(Protocol):
    def after(self, instant: float) -> int:
        """The first tick after that instant."""


class Every(NamedTuple):
    """Every so many seconds, counted from the full hour, day, week: from 1970 on."""

    seconds: int

    def after(self, instant: float) -> int:
        return (math.floor(instant / self.seconds) + 1) * self.seconds


class Cron(NamedTuple):
    """Minute, hour, day of the month, month and day of the week, as in a crontab."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    # Where both days are limited, either will do: so crontabs have always been read.
    either_day: bool

    def after(self, instant: float) -> int:
        start = datetime.fromtimestamp(math.floor(instant), UTC).replace(second=0) + timedelta(minutes=1)
        day = start.replace(hour=0, minute=0)
        for _ in range(MOST_DAYS):
            if self._has_day(day):
                for hour in sorted(self.hours):
                    for minute in sorted(self.minutes):
                        found = day.replace(hour=hour, minute=minute)
                        if found >= start:
                            return int(found.timestamp())
            day += timedelta(days=1)
        raise ValueError("this cron schedule never comes: no month has such a day")

    def _has_day(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week


def every(seconds: float) -> Every:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"a schedule repeats every so many seconds, not {shown(seconds)}")
    if not 1 <= seconds <= MOST_SECONDS or seconds != int(seconds):
        raise ValueError(
            f"a schedule repeats every whole number of seconds, at least 1 and at most {MOST_SECONDS:g}, "
            f"not {shown(seconds)}"
        )
    return Every(int(seconds))


def cron(text: str) -> Cron:
    """From '*/15 8-18 * * mon-fri'; raises with the field that is wrong."""
    parts = check_text(text, "a cron schedule").split()
    if len(parts) != len(FIELDS):
        raise ValueError(
            f"a cron schedule has five fields (minute hour day month weekday), and {shown(text)} has {len(parts)}"
        )
    sets = [_field(part.lower(), *field) for part, field in zip(parts, FIELDS, strict=True)]
    weekdays = frozenset(number % 7 for number in sets[4])
    either = not parts[2].startswith("*") and not parts[4].startswith("*")
    found = Cron(sets[0], sets[1], sets[2], sets[3], weekdays, either)
    found.after(0.0)
    return found


def _field(text: str, name: str, low: int, high: int) -> frozenset[int]:
    numbers: set[int] = set()
    for item in text.split(","):
        span, _, step = item.partition("/")
        first, dash, last = span.partition("-")
        try:
            if span == "*":
                start, end = low, high
            else:
                start = _number(first, name)
                end = _number(last, name) if dash else (high if step else start)
            chosen = range(start, end + 1, int(step or 1))
        except ValueError:
            raise ValueError(
                f"{shown(item)} is no {name} of a cron schedule: use *, 5, 1-5, */10 or a list of these"
            ) from None
        if not chosen or chosen[0] < low or chosen[-1] > high:
            raise ValueError(f"{shown(item)} is no {name} of a cron schedule: it goes from {low} to {high}")
        numbers.update(chosen)
    return frozenset(numbers)


def _number(text: str, name: str) -> int:
    names = {"month": MONTHS, "weekday": WEEKDAYS}.get(name, {})
    return int(names.get(text, text))
