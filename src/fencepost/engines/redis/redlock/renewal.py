"""Keeping a lease: one call to each node for all that is on it, and what the answers mean.

A claim is kept if a majority of nodes say that its vote is with us still, never because of votes gained just now: those
count from the next renewal on. So a lock that another held in between is not revived.
"""

from typing import NamedTuple

from fencepost.engines.redis.key import SINGLE
from fencepost.engines.redis.redlock.ballot import PENDING, Ballot
from fencepost.engines.redis.redlock.lease import Entry, Lease, Vote
from fencepost.engines.redis.redlock.script import RENEW
from fencepost.engines.redis.resp import Reply, bulk

LOST = "a majority of nodes no longer has it"


class Subject(NamedTuple):
    """One entry as a renewal speaks of it: held (at all but the nodes in `lacking`, which may vote now), or waiting."""

    entry: Entry
    held: bool
    lacking: frozenset[int]


class Verdict(NamedTuple):
    """`gone` by serial and name, with the reason. `unsure` if too few nodes answered to tell."""

    alive: bool
    unsure: bool
    gone: dict[tuple[int, str], str]


def compose(lease: Lease, size: int, ballot: Ballot) -> tuple[list[bytes], list[Subject]]:
    """For each node its command, and what all of them are about."""
    everyone = frozenset(range(size))
    subjects = []
    epoch = lease.epochs.bulk
    for serial, entry in lease.entries.copy().items():
        lacking = everyone - entry.votes.keys() if entry.token is not None and entry.alone else frozenset[int]()
        if lacking:
            # A release that does not see this has taken the entry away by now; one that comes later sees it.
            ballot.ways = [PENDING] * size
            entry.ask(ballot)
            if serial not in lease.entries:
                continue
        subjects.append(Subject(entry, entry.token is not None, lacking))
    keys = b"".join(
        (
            RENEW.head(4 + len(subjects), 2 + len(subjects)),
            *map(bulk, (lease.key, SINGLE.index, SINGLE.audit, SINGLE.mark)),
            *(subject.entry.place.lock_bulk for subject in subjects),
            bulk(b"%d" % lease.ttl),
            epoch,
        )
    )
    said = [_say(subject.entry) if subject.held else b"" for subject in subjects]
    lacking = frozenset[int]().union(*(subject.lacking for subject in subjects))
    if not lacking and all(said):
        return [keys + b"".join(said)] * size, subjects
    commands = []
    for node in range(size):
        own = [
            bulk(b"^" + lease.value(subject.entry))
            if node in subject.lacking
            else words or bulk(b"=" + lease.member(subject.entry, node))
            for subject, words in zip(subjects, said, strict=True)
        ]
        commands.append(keys + b"".join(own))
    return commands, subjects


def _say(entry: Entry) -> bytes:
    """That it is held, which is the same for all nodes."""
    return bulk(entry.own if entry.alone else b"#" + entry.own[3:-1])


def judge(lease: Lease, subjects: list[Subject], replies: list[Reply | None], sent_at: float, majority: int) -> Verdict:
    """What the nodes' answers mean, noted in the lease."""
    known = 0
    kept = [0] * len(subjects)
    reasons: dict[int, str] = {}
    strayed: set[int] = set()
    for node, reply in enumerate(replies):
        if reply is None:
            continue
        lease.nodes.add(node)
        lease.confirmed[node] = sent_at
        well = reply == 1
        known += 1 if well else reply[0]
        amiss = {} if well else dict(zip(reply[1::2], reply[2::2], strict=True))
        for number, (entry, held, lacking) in enumerate(subjects):
            found = amiss.get(number + 1)
            if found is None:
                if node in lacking:
                    entry.note_vote(node, Vote(entry.token or 0, sent_at, sent_at))
                elif held:
                    kept[number] += 1
            elif found[:1] == b"+":
                entry.note_vote(node, Vote(int(found[1:]), sent_at, sent_at))
            else:
                entry.lose_vote(node, sent_at)
                if found[:1] == b"!":
                    reasons[number] = f"evicted by {found[1:].decode(errors='replace')}"
                if node not in entry.votes:
                    strayed.add(number)
    unanswered = {node for node, reply in enumerate(replies) if reply is None}
    alive = known + len(unanswered) >= majority
    unsure = known < majority
    gone: dict[tuple[int, str], str] = {}
    for number, (entry, held, _) in enumerate(subjects):
        key = (entry.request.serial, entry.name)
        if lease.entries.get(entry.request.serial) is not entry:
            # Given back meanwhile.
            continue
        if held and kept[number] < majority:
            if kept[number] + len(unanswered & entry.votes.keys()) >= majority:
                unsure = True
            else:
                gone[key] = reasons.get(number, LOST)
        elif not held and entry.token is not None and len(lease.proven(entry, sent_at)) < majority:
            unsure = True
        elif not held and entry.waiter is not None and (number in strayed or len(entry.votes) >= majority):
            entry.waiter.stir()
    return Verdict(alive, unsure, gone)
