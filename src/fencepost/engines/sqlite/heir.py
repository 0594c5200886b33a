"""Who is first in line, noted in shared memory by whoever is.

A release that finds the note tells the heir before it writes to the state file: waking a sleeper takes long, and
so does a cold database. It is safe because nothing but the release of the noted token, inside the gate, can make
somebody else the holder without a change being counted. If the writer dies between the letter and the state file,
whoever buries it grants the name to the first in line, which is the heir that already has it.
"""

import struct
import zlib
from typing import NamedTuple

from fencepost.engines.sqlite.gate import HEIRS, Gate

# The changes so far, the token held before us, the end of our lease, our serial, lengths, holder and mailbox.
_NOTE = struct.Struct("<QQdqBB64s32s")
_SLOT = 128
_SLOTS = len(HEIRS) // _SLOT


class Heir(NamedTuple):
    holder: str
    serial: int
    mailbox: str


def note_heir(gate: Gate, name: str, token: int, lease_ends: float, heir: Heir) -> None:
    """We are the first to get `name`, which is held alone with `token`."""
    holder, mailbox = heir.holder.encode(), heir.mailbox.encode()
    if len(holder) <= 64 and len(mailbox) <= 32:
        _NOTE.pack_into(
            gate.notes, _at(name), gate.changes, token, lease_ends, heir.serial,
            len(holder), len(mailbox), holder, mailbox,
        )  # fmt: skip


def heir_of(gate: Gate, name: str, token: int, now: float) -> Heir | None:
    """Who certainly gets `name` when `token` is released; None if that is not known."""
    changes, held, lease_ends, serial, long, wide, holder, mailbox = _NOTE.unpack_from(gate.notes, _at(name))
    if changes != gate.changes or held != token or lease_ends <= now:
        return None
    return Heir(holder[:long].decode(), serial, mailbox[:wide].decode())


def _at(name: str) -> int:
    return HEIRS.start + zlib.crc32(name.encode()) % _SLOTS * _SLOT
