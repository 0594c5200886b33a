from datetime import UTC, datetime

import pytest

from fencepost.core.schedule import cron, every

pytestmark = pytest.mark.unit


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def next_of(expression: str, start: str) -> str:
    return datetime.fromtimestamp(cron(expression).after(at(start)), UTC).strftime("%Y-%m-%d %H:%M")


def test_every_node_finds_the_same_ticks() -> None:
    assert every(60).after(119.9) == 120
    assert every(60).after(120.0) == 180
    assert every(3600).after(at("2026-11-15 10:20")) == at("2026-11-15 11:00")


@pytest.mark.parametrize(
    ("expression", "start", "found"),
    [
        ("* * * * *", "2026-11-15 10:20", "2026-11-15 10:21"),
        ("*/15 * * * *", "2026-11-15 10:20", "2026-11-15 10:30"),
        ("0 3 * * *", "2026-11-15 03:00", "2026-11-16 03:00"),
        ("30 8-18/2 * * mon-fri", "2026-11-13 18:40", "2026-11-16 08:30"),
        ("0 0 1 jan *", "2026-11-15 00:00", "2027-01-01 00:00"),
        ("0 0 29 2 *", "2026-11-15 00:00", "2028-02-29 00:00"),
        ("0 12 * * 7", "2026-11-16 00:00", "2026-11-22 12:00"),
        ("5,10 1 * * *", "2026-11-15 01:05", "2026-11-15 01:10"),
        # Both days limited: either will do.
        ("0 0 13 * fri", "2026-11-14 00:00", "2026-11-20 00:00"),
    ],
)
def test_a_cron_schedule_means_what_a_crontab_means(expression: str, start: str, found: str) -> None:
    assert next_of(expression, start) == found


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("* * * *", "has 4"),
        ("60 * * * *", "'60' is no minute of a cron schedule: it goes from 0 to 59"),
        ("* * * * noday", "'noday' is no weekday"),
        ("*/0 * * * *", "'\\*/0' is no minute"),
        ("5-1 * * * *", "'5-1' is no minute"),
        ("0 0 31 2 *", "never comes"),
    ],
)
def test_a_schedule_that_is_wrong_is_refused_with_the_field(expression: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        cron(expression)


@pytest.mark.parametrize("seconds", [0, 0.5, 1.5, -1, float("nan"), float("inf")])
def test_an_interval_is_a_whole_number_of_seconds(seconds: float) -> None:
    with pytest.raises(ValueError, match="whole number of seconds"):
        every(seconds)
