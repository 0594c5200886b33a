"""Connections to one server, the asynchronous and the blocking kind, under the same names.

`call` sends requests in one go and returns their replies. `wait` returns when the waiter has news or its time is over.
No reply ever reaches another than who asked: what a caller does not stay for is thrown away. A reply that does not
come in time, or anything else that goes wrong, ends the connection, and all who are on it are told. Nothing is sent
twice. What they raise is `OSError` or `ValueError`.
"""
