"""Connections to the agents, the asynchronous and the blocking kind, under the same names.

`Link.call` sends one request and gives its answer; `Link.watch` waits for one that comes only with news. Each request
has a connection of its own while it is under way. One on which anything went wrong is dropped, and the next request
goes to the next agent. Nothing is sent twice. `Unavailable` is all they raise.
"""

# An agent takes 200 connections from one client by default; watches come on top of these.
MOST_CALLS = 48
