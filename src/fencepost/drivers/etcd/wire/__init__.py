"""Sockets: `aio` for the asynchronous client, `threads` for the blocking one. Same names, same meanings.

`Link` makes calls, at whichever member answers. `Ear` is one watch stream, heard by all who wait.
"""
