"""The scripts a node runs: those of a single server, with tokens that nodes agree on, and its own."""

from fencepost.engines.redis.script import Script
from fencepost.engines.redis.shape import are_texts, is_node_claim, is_node_renewal, is_page

MEETING = ("redlock/step", "queue")

CLAIM = Script("redlock/claim", *MEETING, "enter", fits=is_node_claim)
ASK = Script("redlock/ask", *MEETING, "enter", fits=is_node_claim)
RELEASE = Script("redlock/release", *MEETING, "redlock/pass_on")
LEAVE = Script("redlock/leave", *MEETING, "leave_all")
EVICT = Script("redlock/evict", *MEETING, "take_away", fits=are_texts)
YIELD = Script("redlock/yield", *MEETING, "redlock/give_way")
SHARE = Script("redlock/share", *MEETING, "redlock/open_up")
ACCEPT = Script("redlock/accept")
RENEW = Script("redlock/renew", fits=is_node_renewal)
NAMES = Script("redlock/names", fits=is_page)
# Those that ask for a node's vote.
CLAIMS = (CLAIM, ASK)
# Loaded as soon as a node is met: what is given back while nobody waits for the answer must not fail for want of them.
GIVING_BACK = (RELEASE, LEAVE)
