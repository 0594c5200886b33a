"""Who is next: burying the dead and granting to the waiting. Everything here happens inside a transaction.

What must be said to others afterwards is collected in `letters`, and sent once the gate is open again.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from fencepost.core.claim import admitted
from fencepost.engines.sqlite.mailbox import Letter, Mailbox
from fencepost.engines.sqlite.place import Key, Place
from fencepost.engines.sqlite.process import Identity, Peers
from fencepost.engines.sqlite.row import Row, is_holder, is_present, is_well_formed, requests
from fencepost.engines.sqlite.sql import STATEMENTS
from fencepost.engines.sqlite.store import Store
from fencepost.engines.sqlite.transfer import Transfer

T = TypeVar("T")
EVERYONE = -1
# Nobody overtakes, so behind the first who is refused nobody need be asked: usually two rows are enough.
WINDOWS = (2, 64)


class Queue:
    def __init__(
        self,
        store: Store,
        mailbox: Mailbox,
        peers: Peers,
        now: Callable[[], float],
    ) -> None:
        self.store = store
        self.transfer = Transfer(store)
        self.mailbox = mailbox
        self.peers = peers
        self.now = now
        self.places: dict[Key, Place] = {}
        self.letters: Sequence[Letter] = ()
        self.lease_ends = store.lease_ends
        # Of each lease of this engine: its latest serial, as a request that is not newer may have been asked before;
        # and the mailbox that the state file is known to have for it.
        self.latest: dict[str, int] = {}
        self.addresses: dict[str, str] = {}

    def rows(self, statement: str, *args: object) -> list[Row]:
        """What can not be read is nobody's claim, and is removed."""
        found = self.store.execute(STATEMENTS[statement], args).fetchall()
        rows = [Row._make(row) for row in found if is_well_formed(row)]
        if len(rows) < len(found):
            for name, waiting, number, *_ in found:
                if not any((row.name, row.waiting, row.number) == (name, waiting, number) for row in rows):
                    self.change("remove", name, waiting, number)
        return rows

    def change(self, statement: str, *args: object) -> int:
        return self.store.execute(STATEMENTS[statement], args).rowcount

    def atomically(self, work: Callable[..., T], *args: Any) -> T:
        self.transfer.to_file()
        self.store.execute("BEGIN IMMEDIATE")
        self.store.gate.check()
        result = work(*args)
        self.store.execute("COMMIT")
        return result

    def is_alive(self, holder: str) -> bool:
        """Whether it has a lease, by a record that can be read: nothing that stands on another one would be."""
        return any(map(is_holder, self.store.execute(STATEMENTS["alive"], (holder, self.now())).fetchall()))

    def is_dead(self, row: Row) -> bool:
        return row.expires_at <= self.now() or self.peers.is_dead(row.process)

    def bury(self, holders: Collection[str], freed: Iterable[str] = ()) -> None:
        """Remove all that these holders have, and grant it to whoever is next."""
        names = set(freed)
        gaps: list[Row] = []
        for holder in holders:
            for row in self.rows("belongings", holder):
                names.add(row.name)
                if row.waiting:
                    gaps.append(row)
                if (place := self.places.pop(row.key, None)) is not None:
                    place.stir(over="the lease ended")
            self.change("bury_claims", holder)
            for (box,) in self.store.execute(STATEMENTS["bury_holder"], (holder,)).fetchall():
                self._clear_away(box)
        for row in gaps:
            self.close_gap(row)
        self.promote(names)

    def unreachable(self, letter: Letter) -> None:
        """Nobody reads at that address. Whoever left its box there is gone, and its grant goes to the next.

        One that lives and whose box somebody deleted finds that out itself; it may have moved already.
        """
        for expires_at, *process, mailbox in self.store.execute(STATEMENTS["presence"], (letter.holder,)).fetchall():
            if not is_present(expires_at, *process):
                self.bury((letter.holder,))
            elif mailbox != letter.mailbox:
                if mailbox is not None:
                    self.write(letter._replace(mailbox=mailbox))
            elif self.mailbox.has(mailbox) or expires_at <= self.now() or self.peers.is_dead(Identity(*process)):
                self.bury((letter.holder,))

    def close_gap(self, gone: Row) -> None:
        """Whoever stood behind `gone` must watch somebody else now."""
        for row in self.rows("after", gone.name, gone.number):
            self.tell(row)

    def promote(self, freed: Iterable[str]) -> None:
        """Grant what can be granted now that the names in `freed` have changed."""
        tangled = {name for name in freed if not self._promote_one(name)}
        if tangled:
            self._promote_tangled(tangled)

    def _promote_one(self, name: str) -> bool:
        """For one name that all its waiters ask for alone. False if one of them asks for others as well."""
        for window in WINDOWS:
            while True:
                waiting = self.rows("standing", name, 1, window)
                if not waiting:
                    return True
                if any(row.parts > 1 for row in waiting):
                    return False
                if self._bury_expired(waiting, (name,)):
                    return True
                holding = {name: [row.ask() for row in self.rows("standing", name, 0, EVERYONE)]}
                found = requests(waiting)
                granted = [found[request] for request in admitted(holding, found, (name,))]
                for rows in granted:
                    self._grant(rows)
                if len(granted) < len(waiting):
                    # The next in line watches the one before it; a single new holder is just that one.
                    if not len(holding[name]) == len(granted) == 1:
                        self.tell(waiting[len(granted)])
                    return True
                if len(waiting) < window:
                    return True
                if window != WINDOWS[-1]:
                    break
        return True

    def _promote_tangled(self, freed: set[str]) -> None:
        """For names that some ask for together with others."""
        names = set(freed)
        # Each request once, in however many of the queues it stands.
        tangled = {row.key for name in freed for row in self.rows("standing", name, 1, EVERYONE) if row.parts > 1}
        for holder, serial in tangled:
            names.update(part.name for part in self.rows("request", holder, serial))
        waiting = [row for name in names for row in self.rows("standing", name, 1, EVERYONE)]
        if self._bury_expired(waiting, freed):
            return
        holding = {name: [row.ask() for row in self.rows("standing", name, 0, EVERYONE)] for name in names}
        found = requests(waiting)
        granted = list(admitted(holding, found, freed))
        for request in granted:
            self._grant(found.pop(request))
        # Those granted gave up their turn on their other names as well, where somebody may stand behind them.
        further = {name for request in granted for name in request.names} - freed
        if further:
            self.promote(further)
        told: set[str] = set()
        for rows in found.values():
            for row in rows:
                if row.name not in told:
                    told.add(row.name)
                    self.tell(row)

    def _bury_expired(self, waiting: list[Row], freed: Iterable[str]) -> bool:
        now = self.now()
        dead = {row.holder for row in waiting if row.expires_at <= now}
        if dead:
            self.bury(dead, freed)
        return bool(dead)

    def _grant(self, rows: list[Row]) -> None:
        tokens = tuple(self.store.mint() for _ in rows)
        for row, token in zip(rows, tokens, strict=True):
            self.change("promote", row.name, row.number, token, self.now())
        self.tell(rows[0], tokens)

    def tell_everyone(self) -> None:
        """To look again: whoever had something to say to one of them was interrupted."""
        for row in self.rows("everyone"):
            self.tell(row)

    def tell(self, row: Row, tokens: tuple[int, ...] = ()) -> None:
        if row.mailbox is not None:
            self.write(Letter(row.mailbox, row.holder, row.serial, tokens))

    def write(self, letter: Letter) -> None:
        self.letters = (*self.letters, letter)

    def _clear_away(self, box: str | None) -> None:
        """An engine keeps its box from lease to lease, so the box of the one may be in use by the next."""
        if box in (None, self.mailbox.name) or self.store.execute(STATEMENTS["addressed"], (box,)).fetchall():
            return
        self.mailbox.unlink(box)
