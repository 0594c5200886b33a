"""Connections to one server, the asynchronous and the blocking kind, under the same names, by libpq.

`Connection` runs one statement at a time: `call` it and get its result; or `ask`, which may return before the result is
there, and `finish` later. Whoever does not stay for an answer owes it to the connection: the next caller waits for it
first, so that no answer ever reaches another than who asked. `Pool` lends connections, `Ear` listens to one channel for
any number of waiters. Nothing is sent twice. `Unavailable` and `Refused` are all they raise, and `ServerError` where
the server answered with an error: then the statement did not happen.
"""
