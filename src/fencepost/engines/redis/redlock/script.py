"""The scripts a node runs: those of a single server where they are the same, and its own."""

from fencepost.engines.redis.script import Script

CLAIM = Script("redlock/claim", "queue", "enter")
ASK = Script("redlock/ask", "queue", "enter")
RELEASE = Script("redlock/release", "queue", "redlock/pass_on")
ACCEPT = Script("redlock/accept")
YIELD = Script("redlock/yield", "queue", "redlock/give_way")
RENEW = Script("redlock/renew")
NAMES = Script("redlock/names")
