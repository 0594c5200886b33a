"""What the message of a grant must say: nobody can know it who may not write the lock himself.

Each is good for one request, at one server: once it was said, everybody who listens there knows it.
"""

import secrets

# In hex digits; and how many are drawn at once, for each alone would cost a system call.
LENGTH = 16
DRAWN = 64


class Nonces:
    __slots__ = ("_ready",)

    def __init__(self) -> None:
        self._ready: list[bytes] = []

    def next(self) -> bytes:
        try:
            return self._ready.pop()
        except IndexError:
            text = secrets.token_hex(LENGTH // 2 * DRAWN).encode()
            mine, *others = (text[at : at + LENGTH] for at in range(0, len(text), LENGTH))
            self._ready.extend(others)
            return mine
