"""What nobody should give as an argument, and what looks odd and is fine, for each kind of argument."""

import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import NamedTuple

from fencepost.core.assignment import MOST_PARTITIONS
from fencepost.core.duration import MOST_SECONDS
from fencepost.core.name import MOST_CHARACTERS, MOST_DATA
from fencepost.core.permit import MOST_COUNT
from fencepost.core.priority import HIGHEST, LOWEST


class Silent:
    """It does not say what it is."""

    def __repr__(self) -> str:
        raise RuntimeError("not said")

    __str__ = __repr__


class Kind(NamedTuple):
    """Of one argument: what is refused, and what is taken."""

    bad: tuple[object, ...]
    good: tuple[object, ...] = ()

    def without(self, *values: object) -> "Kind":
        """Where these are not refused."""
        return Kind(tuple(each for each in self.bad if not any(each is value for value in values)), self.good)


ENDLESS = 10**5000  # Python does not even write it out.
NO_TEXT = (None, 42, math.nan, True, b"bytes", ["a"], {"a": 1}, object(), Silent())
NO_UNICODE = ("\0", "a\0b", "\ud800", "a\udfffb")
ODD = (
    "a b", " ", "\n", "two\r\nlines", "\t", "\x1b[2J\x07", "\x7f\x85\u2028", "\ufeff", "\ufffd", "\uffff",
    "ключ", "\u202eright to left", "e\u0301", "\u0301", "é", "🔒", "👩\u200d👩\u200d👧", "\U0010ffff",
    ".", "..", "a/../b", "/", "//", "/a/", "a//b", "a\\b", "~", "-", "--help", "%", "%41", "%zz", "%s%n", "+",
    "*", "?", "[a]", "{a}", "{}", "}{", "{a}:b*?[c]", "$(reboot)", "`id`", "a;b|c&d>e", "'; DROP TABLE claim; --",
    '"', "''", "\\'", "<b>&amp;", "${jndi:ldap://h}", "]]>", "#", "=", ",", "@", ":", "null", "None", "0", "NaN",
    "KEYS[1]", "return redis.call('FLUSHALL')", "\\u0000", "x:__lock__", "__lock__0000000001", ".lock", ".fencepost",
    "x" * MOST_CHARACTERS, "🔒" * MOST_CHARACTERS, "\n" * MOST_CHARACTERS,
)  # fmt: skip
NAME = Kind((*NO_TEXT, *NO_UNICODE, "", "x" * (MOST_CHARACTERS + 1), "🔒" * (MOST_CHARACTERS + 1)), ODD)
NOTE = Kind((*NO_TEXT, *NO_UNICODE, "x" * (MOST_CHARACTERS + 1)), ("", *ODD))
DATA = Kind((*NO_TEXT, *NO_UNICODE, "x" * (MOST_DATA + 1)), ("", *ODD, "🔒" * MOST_DATA))
NO_NUMBER = (True, False, "1", b"1", Decimal(1), Decimal("nan"), Fraction(1, 2), 1j, [1], object(), Silent())
NO_SECONDS = (math.inf, -math.inf, math.nan, -1, -5e-324, -ENDLESS, 1e308, 2**63, 2**64, 10**400, ENDLESS)
SECONDS = Kind((*NO_NUMBER, *NO_SECONDS, None), (0, 0.0, -0.0, 5e-324, 1, 0.5, MOST_SECONDS))
TIMEOUT = SECONDS.without(None)
NO_WHOLE = (*NO_NUMBER, math.inf, math.nan, 1.0, 1.5, 1e308)
COUNT = Kind((*NO_WHOLE, 0, -1, -ENDLESS, MOST_COUNT + 1, 2**63, 2**64, ENDLESS, None), (1, 2, MOST_COUNT))
PARTS = Kind((*COUNT.bad, MOST_PARTITIONS + 1), (1, 2, MOST_PARTITIONS))
PRIORITY = Kind((*NO_WHOLE, LOWEST - 1, HIGHEST + 1, 2**63, ENDLESS, -ENDLESS, None), (LOWEST, 0, HIGHEST))
VERSION = Kind((*NO_WHOLE, -1, 2**63, ENDLESS, -ENDLESS, None), (0, 1, 2**63 - 1))
TOKEN = Kind(
    (*NO_WHOLE, 0, -1, 2**63, ENDLESS, -ENDLESS, None, *(SimpleNamespace(token=bad) for bad in (0, "1", None, True))),
    (1, 2**63 - 1, SimpleNamespace(token=2)),
)
TICK = Kind((*NO_NUMBER, None, 1.0, math.nan, 2**63, ENDLESS, -ENDLESS, *NO_UNICODE, "", "x" * 1025), (-1, 0, 1, *ODD))
TICK = TICK.without("1")
FUNCTION = Kind((42, "f", b"f", [], {}, object(), Silent()))
MAPPING = Kind((42, "ab", ["a"], None, object(), Silent()))
PATH = Kind((None, 42, b"/tmp/x", ["a"], object(), "", "a\0b", "\ud800"))
# As a library quotes it that takes a quote in a name as well; and as we do, who refuse it.
TABLE = Kind((*NO_TEXT, *NO_UNICODE, "", ".", "a..b"), ("a", "a b", "shop.orders", "'; DROP", "é"))
COLUMN = Kind((*TABLE.bad, 'a"b', 'x" --'), TABLE.good)
COLUMNS = Kind((42, "ab", None, object(), [42], [""], ["a\0b"]))
NAMES = Kind((42, "ab", None, object(), [], [42], ["a", "a"], [""], ["a\0b"], ["\ud800"], ["x" * 1025], b"ab"))
URL = Kind(
    (42, b"memory://", [], object(), Silent(), *NO_UNICODE, "a", "://", "1://a", "x" * 70_000, "memory://h?a=1"),
    ("memory://", "memory://a", "memory:///a%20b"),
)
CRON = Kind(
    (
        *(42, b"a", [], object(), *NO_UNICODE, "", "\n", "\x1b[2J", "x" * 1025),
        *("* * * *", "60 * * * *", "*/0 * * * *", "* * 30 2 *", "a b c d e", "\u0663 * * * * *"),
        *("0-99999999999 * * * *", f"{'9' * 900} * * * *", f"*/{'9' * 900} * * *"),
    ),
    (None, "* * * * *", "*/15 8-18 * * mon-fri"),
)
UPSTREAM = Kind(
    (
        *(42, b"http://h", None, *NO_UNICODE, "", "h", "ftp://h", "http://", "http://h:x", "http://h:99999"),
        *("http://[::1", "http://h\r\nX: y", "http://h\u202e"),
    ),
    ("http://h", "https://h:1/path/", "http://[::1]:1"),
)
