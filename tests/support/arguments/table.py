"""What each argument of each public call is, and what is given for the others meanwhile.

A public call that is in none of these tables, or an argument that is not in the row of its call, fails
tests/arguments/test_complete.py.
"""

from typing import Any

from fencepost.fences.result import MemoryResults
from tests.support.arguments.value import (
    COLUMN,
    COLUMNS,
    COUNT,
    CRON,
    DATA,
    FUNCTION,
    MAPPING,
    NAME,
    NAMES,
    NO_WHOLE,
    NOTE,
    PARTS,
    PATH,
    PRIORITY,
    SECONDS,
    TABLE,
    TICK,
    TIMEOUT,
    TOKEN,
    UPSTREAM,
    URL,
    VERSION,
    Kind,
)

Row = dict[str, Kind]
# Only whether it is true counts, or it is the caller's own, and nobody else's to judge.
ANY = Kind(())
GUARDED: Row = {"name": NAME, "grant": TOKEN}
LOCK: Row = {"name": NAME, "timeout": TIMEOUT, "priority": PRIORITY, "note": NOTE}
RESULTS: dict[str, Row] = {
    "find": {"name": NAME},
    "claim": GUARDED,
    "keep": {**GUARDED, "value": DATA._replace(bad=NOTE.bad[:-1]), "expires_in": TIMEOUT},
}
FENCED: Row = {
    "name": ANY,
    "largest_token": TOKEN.without(None)._replace(good=(1, None)),
    "largest_body": VERSION,
}
REFUSED: dict[str, Row] = {
    "connect": {
        "url": URL,
        "ttl": SECONDS._replace(bad=(*SECONDS.bad, 0), good=(0.5, 1e9)),
        "margin": SECONDS._replace(good=(0, 1)),
        "holder": NOTE.without(None),
        "requires": Kind((42, "ab", ["a"], {"a": 1}, {1: 2}, {"scope": []}, {"scope": None}, {"cells": 1}))._replace(
            good=(None, {}, {"scope": "process"}, {"ttl_floor": 1, "neighbours": []})
        ),
        "clock": Kind((42, "ab", [], object())),
    },
    "Session.lock": {**LOCK, "reentrant": ANY},
    "Session.rwlock": LOCK,
    "Session.semaphore": {**LOCK, "limit": COUNT, "weight": COUNT._replace(bad=(*COUNT.bad, 3), good=(1, 2))},
    "Session.lock_all": {"names": NAMES, "timeout": TIMEOUT, "priority": PRIORITY, "note": NOTE},
    "Session.election": {
        "name": NAME,
        "value": DATA,
        "timeout": TIMEOUT,
        "healthy": FUNCTION,
        "check_every": SECONDS._replace(bad=(*SECONDS.bad, 0), good=(0.1, 1e9)),
    },
    "Session.group": {"name": NAME, "data": DATA},
    "Session.barrier": {"name": NAME, "parties": COUNT},
    "Session.latch": {"name": NAME, "count": COUNT},
    "Session.partitions": {"name": NAME, "count": PARTS, "data": DATA},
    "Session.rate_limit": {
        "name": NAME,
        "limit": COUNT._replace(bad=(*COUNT.bad, 1_100_000), good=(1, 1_000_000)),
        "per": SECONDS._replace(bad=(*SECONDS.bad, 0, 1e-7), good=(1e-5, 1, 1e9)),
    },
    "Session.job": {
        "name": NAME,
        "every": SECONDS.without(None)._replace(bad=(*TIMEOUT.bad, 0, 0.5, 1.5), good=(None, 1, 2.0, 1e9)),
        "cron": CRON,
        "at_least": SECONDS,
        "at_most": TIMEOUT,
    },
    "Session.once": {
        "key": NAME,
        "store": Kind((42, "ab", [], object()), (None, MemoryResults())),
        "expires_in": TIMEOUT,
        "timeout": TIMEOUT,
    },
    "Session.look": {"name": NAME},
    "Session.names": {"prefix": NOTE},
    "Session.evict": {"name": NAME},
    "Session.ask_to_yield": {"name": NAME, "reason": NOTE},
    "Session.subscribe": {"listener": Kind((None, *FUNCTION.bad)), "kinds": Kind((None, 42, "ab", Exception))},
    "Lock.acquire": {"timeout": TIMEOUT},
    "LockAll.acquire": {"timeout": TIMEOUT},
    "Election.acquire": {"timeout": TIMEOUT},
    "Group.acquire": {"timeout": TIMEOUT},
    "Partitions.acquire": {"timeout": TIMEOUT},
    "Election.campaign": {"value": DATA, "timeout": TIMEOUT},
    "Election.proclaim": {"value": DATA},
    "Group.join": {"data": DATA},
    "Membership.update": {"data": DATA},
    "Ownership.using": {"number": Kind((*NO_WHOLE, None))},
    "Barrier.wait": {"timeout": TIMEOUT},
    "Latch.count_down": {"steps": COUNT},
    "Latch.wait": {"timeout": TIMEOUT},
    "RateLimit.acquire": {"weight": COUNT._replace(bad=(*COUNT.bad, 6), good=(1,)), "timeout": TIMEOUT},
    "RateLimit.try_acquire": {"weight": COUNT._replace(bad=(*COUNT.bad, 6), good=(1, 5))},
    "ReadWriteLock.downgrade": {"grant": Kind((None, 42, "ab", object(), Kind))},
    "Job.begin": {"tick": TICK, "timeout": TIMEOUT, "again": ANY},
    "Job.last": {"tick": TICK.without(None)},
    "Run.end": {"error": Kind(NOTE.bad[:9], ("", "\ud800", "\0", "x" * 5000))},
    "Once.run": {"work": Kind((None, *FUNCTION.bad))},
    "Once.__call__": {"function": Kind((None, *FUNCTION.bad, lambda other: other))},
    "Grant.require": {"seconds": SECONDS._replace(good=(0, 1))},
    "Grants.require": {"seconds": SECONDS._replace(good=(0, 1))},
    "Traits.shortfalls": {"requires": MAPPING},
    "FileFence.__init__": {"path": PATH},
    "HostFence.__init__": {"path": PATH},
    "FileResults.__init__": {"path": PATH},
    **{f"{kind}.claim": GUARDED for kind in ("MemoryFence", "FileFence", "HostFence", "SqliteFence", "SqlFence")},
    **{f"{kind}.guard": GUARDED for kind in ("MemoryFence", "FileFence", "HostFence", "SqliteFence", "SqlFence")},
    **{
        f"{kind}.highest": {"name": NAME}
        for kind in ("MemoryFence", "FileFence", "HostFence", "SqliteFence", "SqlFence", "Registry")
    },
    **{f"{kind}.execute": {**GUARDED, "sql": ANY, "params": ANY} for kind in ("SqliteFence", "SqlFence")},
    "FileFence.read": GUARDED,
    "FileFence.write": {**GUARDED, "data": Kind((None, 42, "ab", ["a"], object()), (b"", b"ab", bytearray(b"c")))},
    "Registry.admit": GUARDED,
    "Registry.visit": GUARDED,
    "token_of": {"grant": TOKEN},
    "Presented.__init__": {"grant": TOKEN},
    **{f"{kind}.__init__": {"connection": Kind((None, 42, "ab", object()))} for kind in ("SqlFence", "SqliteFence")},
    "EventLog.__init__": {"connection": Kind((None, 42, "ab", object()))},
    "SqlResults.__init__": {"connection": Kind((None, 42, "ab", object())), "together": ANY},
    "Registry.__init__": {"store": Kind((None, 42, "ab", object()))},
    "RedisResults.__init__": {"client": Kind((None, 42, "ab", object()))},
    **{
        f"{store}.{method}": row
        for store in ("FileResults", "MemoryResults", "RedisResults", "SqlResults")
        for method, row in RESULTS.items()
    },
    "RowFence.__init__": {
        "connection": Kind((None, 42, "ab", object())),
        "table": COLUMN,
        "key": COLUMN,
        "column": COLUMN,
    },
    "RowFence.claim": {"key": ANY, "grant": TOKEN},
    "RowFence.read": {"key": ANY, "grant": TOKEN, "columns": Kind((*COLUMNS.bad, []))},
    "RowFence.write": {"key": ANY, "grant": TOKEN, "values": ANY},
    "RowFence.highest": {"key": ANY},
    "S3Fence.__init__": {"client": Kind((None, 42, "ab", object())), "bucket": Kind((None, 42, b"ab", "", object()))},
    **{f"S3Fence.{method}": {"key": NAME, "grant": TOKEN} for method in ("claim", "delete", "read")},
    **{f"S3Fence.{method}": {"key": NAME} for method in ("highest", "peek")},
    "S3Fence.write": {"key": NAME, "grant": TOKEN, "body": ANY, "options": ANY},
    "FencedAsgi.__init__": {**FENCED, "app": ANY, "fence": ANY},
    "FencedWsgi.__init__": {**FENCED, "app": ANY, "fence": ANY},
    "Gateway.__init__": {
        **FENCED,
        "upstream": UPSTREAM,
        "fence": ANY,
        "client": ANY,
        "longest_exchange": SECONDS._replace(bad=(*SECONDS.bad, 0), good=(5e-324, 1, 0.5)),
    },
    "Table.__init__": {
        "connection": Kind((None, 42, "ab", object())),
        "table": COLUMN,
        "key": COLUMN,
        "version": COLUMN,
        "columns": COLUMNS,
    },
    "Table.read": {"key": ANY},
    "Table.swap": {"key": ANY, "version": VERSION, "values": Kind((*MAPPING.bad, {"other": 1}, {1: 2}, {None: 1}))},
    "Table.update": {"key": ANY, "change": Kind((None, *FUNCTION.bad)), "attempts": COUNT._replace(good=(1,))},
    "EventLog.append": {
        "stream": NAME,
        "events": Kind((None, 42, "ab", b"ab", [object()], [{1, 2}], [b"ab"]), ([], [{"a": "\0\ud800"}], (1, None))),
        "expected": VERSION._replace(good=(0,)),
        "grant": TOKEN.without(None),
    },
    "EventLog.read": {"stream": NAME, "after": VERSION},
    "EventLog.version": {"stream": NAME},
    "lock_rows": {
        "connection": ANY,
        "table": TABLE,
        "where": Kind((*MAPPING.bad, {"": 1}, {1: 2})),
        "order_by": COLUMNS,
        "if_locked": Kind((None, 42, "", "no", [], {}, object())),
        "limit": VERSION.without(None),
    },
    "xact_lock": {"connection": ANY, "name": NAME, "shared": ANY},
    "try_xact_lock": {"connection": ANY, "name": NAME, "shared": ANY},
    "World.connect": {
        "ttl": SECONDS._replace(good=(1,)),
        "margin": SECONDS._replace(good=(0,)),
        "holder": NOTE.without(None),
    },
    "World.advance": {"seconds": SECONDS._replace(good=(0, 1))},
    "World.look": {"name": NAME},
    "World.until_waiting": {"name": NAME._replace(good=()), "count": COUNT._replace(good=())},
    "VirtualClock.__init__": {"grace": SECONDS, "patience": SECONDS},
    "VirtualClock.advance": {"seconds": SECONDS._replace(good=(0, 1))},
    "FaultyEngine.called": {
        "method": Kind((42, "no", None)),
        "times": COUNT._replace(good=()),
        "timeout": SECONDS._replace(good=()),
    },
    "FaultyEngine.delay": {"method": Kind((42, "no", None)), "seconds": SECONDS._replace(good=(0,))},
    "FaultyEngine.hang": {"methods": Kind((42, "no", None))},
    **{
        f"FaultyEngine.{method}": {
            "method": Kind((42, "no", None)),
            "times": Kind(("1", None, True, float("nan"), -1, [], object()), (0, 1, float("inf"))),
        }
        for method in ("lose_reply", "refuse")
    },
    "Proxy.__init__": {"target": Kind((*COUNT.bad, 65_536), (1, 65_535)), "host": ANY, "lag": ANY},
    "Proxy.delay": {"seconds": SECONDS._replace(good=(0,))},
}
# What stands in for the arguments that a call needs, and that are not tried just then.
GIVEN: dict[str, Any] = {
    "name": "n",
    "key": "n",
    "names": ["n"],
    "limit": 2,
    "parties": 1,
    "count": 1,
    "per": 1,
    "grant": 5,
    "timeout": 0,
    "tick": 1,
    "value": "v",
    "data": b"",
    "columns": ["total"],
    "table": "orders",
    "version": 0,
    "values": {"total": 1},
    "change": dict,
    "stream": "n",
    "events": [],
    "expected": 0,
    "expires_in": None,
    "sql": "SELECT 1",
    "body": b"",
    "bucket": "b",
    "upstream": "http://h",
    "where": {"id": 1},
    "listener": print,
    "method": "look",
    "seconds": 0,
    "target": 1,
    "weight": 1,
    "number": 0,
    "work": dict,
    "function": dict,
}
# Not for users to call, or of objects that others make, which have checked everything.
BY_THE_LIBRARY = (
    *("Barrier", "Election", "Group", "Job", "Latch", "Lock", "LockAll", "Once", "Partitions", "RateLimit"),
    *("ReadWriteLock", "Run", "Session", "Grant", "Grants", "Membership", "Ownership", "GuardedFile"),
)
EXEMPT: dict[str, str] = {
    **{f"{kind}.__init__": "made by a session, or by another object of ours" for kind in BY_THE_LIBRARY},
    **{
        f"{kind}.{method}": "the wiring between grants and blocks"
        for kind in ("Grant", "Grants", "Membership", "Ownership")
        for method in ("interrupt_on_loss", "forget_interrupt")
    },
    "Grant.end_by_loss": "the wiring between a lease and its grants",
    "Grant.forfeit": "a reason in words, for the one who forfeits",
    "Session.keeper_at": "the wiring between a session and its primitives",
    "Statistics.__init__": "plain values, made by a session",
    "Traits.__init__": "plain values, written down by the author of an engine",
    **{f"{protocol}.__init__": "a protocol" for protocol in ("Fence", "Tokened", "Results")},
    **{f"Fence.{method}": "a protocol" for method in ("claim", "guard", "highest")},
    **{f"Results.{method}": "a protocol" for method in ("find", "claim", "keep")},
    "check": "the rule itself: its arguments were checked by the fence that applies it",
    "GuardedFile.write": "the content of FileFence.write, which is tried",
    "MemoryResults.__init__": "the shelf is ours",
    **{f"{app}.__call__": "called by a web server" for app in ("FencedAsgi", "FencedWsgi", "Gateway")},
    "Presented.__call__": "called by an HTTP client",
    "raise_if_stale": "called by an HTTP client: tests/arguments/test_told.py tries hostile answers",
    **{
        f"FaultyEngine.{method}": "the contract of engines: what sessions call, with what they have checked"
        for method in (
            *("__init__", "arrive", "claim", "depart", "evict", "lease_close", "lease_open", "lease_renew", "look"),
            *("meter", "names", "release", "release_all", "share", "wait", "withdraw"),
        )
    },
    **{
        f"VirtualClock.{method}": "the contract of clocks: what sessions call"
        for method in ("alarm", "alarm_in", "start", "wait", "wait_in")
    },
    "World.__init__": "a seed is whatever random.Random takes",
    **{
        f"World.{method}": "a session, a holder or a label; LookupError says who is there"
        for method in ("cut", "heal", "faults", "pause", "resume", "expire")
    },
    **{f"ServerProcess.{method}": "the author of a test starts a server" for method in ("__init__", "stop", "tail")},
    **dict.fromkeys(
        ("engine_machine", "find_binary", "listening", "logged", "run_engine_machine", "simulate"),
        "the author of a test names a server, a port, a seed or an engine",
    ),
    "async_engine_machine": "as engine_machine",
}
