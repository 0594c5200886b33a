"""The only place that knows asyncio and threading.

`aio` and `threads` export the same names, so that code written for the one becomes code for the other by
changing the import.
"""

# Python imports it at the first look-up of a host. An exception out of a signal handler in the midst of that left every
# later look-up of the process with "unknown encoding: idna".
import encodings.idna  # noqa: F401
