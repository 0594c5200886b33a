"""The caller's own connection, of whichever library, behind one face: `aio` for tasks, `threads` for threads."""
