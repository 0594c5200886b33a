"""Connections to one server, the asynchronous and the blocking kind, under the same names.

`Link` carries commands: `call` one and get its reply, `calls` several in one go. `Ear` listens to one channel for any
number of waiters. No reply ever reaches another than who asked: what a caller does not stay for is thrown away, and
a connection on which anything went wrong is dropped, with all that is on its way. Nothing is sent twice.
`Unavailable` is all they raise, `Refused` where the server does not let us in.
"""
