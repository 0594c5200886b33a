"""Who is first in line, noted in shared memory by whoever is.

A release that finds the note tells the heir before it writes to the state file: waking a sleeper takes long, and
so does a cold database. It is safe because nothing but the release of the noted token, inside the gate, can make
somebody else the holder without a change being counted. If the writer dies between the letter and the state file,
whoever buries it grants the name to the first in line, which is the heir that already has it.
"""

import struct

from fencepost.engines.sqlite.gate import CHANGES, HEIRS, Gate, hash_of
from fencepost.engines.sqlite.mailbox import Letter, made

# The changes so far, the token held before us, the end of our lease, our serial, lengths, holder and mailbox.
_NOTE = struct.Struct("<QQdqBB64s32s")
_SLOT = 128
_FIRST, _SLOTS = HEIRS.start, len(HEIRS) // _SLOT


def note_heir(gate: Gate, name: str, token: int, lease_ends: float, heir: Letter) -> None:
    """Whoever `heir` is for is the first to get `name`, which is held alone with `token`."""
    mailbox, holder = heir.mailbox.encode(), heir.holder.encode()
    if len(holder) <= 64 and len(mailbox) <= 32:
        _NOTE.pack_into(
            gate.notes, _FIRST + hash_of(name) % _SLOTS * _SLOT, gate.words[CHANGES], token, lease_ends, heir.serial,
            len(holder), len(mailbox), holder, mailbox,
        )  # fmt: skip


def heir_of(gate: Gate, hashed: int, token: int, now: float, number: int) -> Letter | None:
    """What to tell whoever certainly gets a name of this hash when `token` is released, with `number` as its token.

    None if that is not known.
    """
    at = _FIRST + hashed % _SLOTS * _SLOT
    changes, held, lease_ends, serial, long, wide, holder, mailbox = _NOTE.unpack_from(gate.notes, at)
    if held != token or lease_ends <= now or changes != gate.words[CHANGES]:
        return None
    return made(Letter, (mailbox[:wide].decode(), holder[:long].decode(), serial, (number,)))
