"""What nodes answer to a claim: votes, places in queues, and who is in the way."""

from collections import Counter

from fencepost.core.claim import Claim
from fencepost.engines.redis import record
from fencepost.engines.redis.redlock.agreement import agree
from fencepost.engines.redis.redlock.lease import Entry, Lease, Vote
from fencepost.engines.redis.resp import Reply

# A NamedTuple, without the two calls that its own constructor takes.
made = tuple.__new__


def note_votes(lease: Lease, entry: Entry, replies: list[Reply | None], sent_at: float, now: float) -> int:
    """What nodes said to a claim; how many do not know its lease."""
    unknown = 0
    for node, reply in enumerate(replies):
        if reply is None:
            continue
        if type(reply) is int:
            entry.note_vote(node, made(Vote, (reply, sent_at, now)))
            lease.nodes.add(node)
        elif reply[0] == 1:
            entry.note_vote(node, Vote(int(reply[1]), sent_at, now))
            lease.nodes.add(node)
        elif reply[0] == 0:
            entry.queued_at[node] = sent_at
            entry.lose_vote(node, sent_at)
            lease.nodes.add(node)
        elif reply[0] == -1:
            entry.lose_vote(node, sent_at)
            lease.nodes.discard(node)
            unknown += 1
    return unknown


def ahead(entry: Entry, replies: list[Reply | None], majority: int) -> tuple[Claim, ...]:
    """Who is in the way, as most nodes say."""
    said = Counter(text for reply in replies if type(reply) is list and reply[0] == 0 for text in reply[5::3])
    found: dict[tuple[str, int], list[Claim]] = {}
    for text, count in said.items():
        claim = record.claim_of(entry.name, entry.place.lock, text)
        found.setdefault((claim.holder.id, claim.serial), []).extend([claim] * count)
    most = max((len(claims) for claims in found.values()), default=0)
    return tuple(agreed(claims, majority) for claims in found.values() if len(claims) == most)


def agreed(claims: list[Claim], majority: int) -> Claim:
    """One claim, as its nodes say it."""
    tokens = [claim.token for claim in claims if claim.token is not None]
    return claims[0]._replace(token=agree(tokens, majority).token if tokens else None)
