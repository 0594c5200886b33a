"""The only place that knows asyncio and threading.

`aio` and `threads` export the same names, so that code written for the one becomes code for the other by
changing the import.
"""
