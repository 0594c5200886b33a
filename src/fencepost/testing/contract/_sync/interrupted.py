# Generated from src/fencepost/testing/contract/_async/interrupted.py by tools/unasync.py. Do not edit: run `make gen`.
"""What a session does, to be interrupted in it; and what must hold afterwards, wherever that was."""

from typing import ClassVar

from fencepost.errors import AcquireTimeout, Lost
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.testing.contract._sync.attempt import Attempt, until
from fencepost.testing.contract._sync.place import LASTING, connect_to, there, until_waiting
from fencepost.testing.contract.interruption import threads as interruption
from fencepost.testing.contract.site import Site

NAME, BESIDE = "a", "b"
# For all that is looked at after one interruption: each part of it has a shorter bound of its own.
CHECKED_WITHIN = 100.0


class Scene:
    """Two sessions, the first of which is interrupted, over and over.

    Whatever the second does is a bystander's: else its connections would be interrupted as well, for good.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self.session = self.connect()
        self.second = connect_to(site, label="second")

    def connect(self) -> Session:
        return connect_to(self._site, label="first")

    def close(self) -> None:
        self.session.close()
        self.second.close()


class Act:
    """Prepared, done, and brought to its end as whoever was interrupted would."""

    # Whether something else of the session waits for another name meanwhile, and may be who reads for all.
    accompanied: ClassVar[bool] = True

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.grant: Grant | None = None

    @property
    def session(self) -> Session:
        return self.scene.session

    def prepare(self) -> None: ...

    def do(self) -> None: ...

    def settle(self) -> None:
        if self.grant is not None and not self.grant.released:
            self.grant.release()

    def _check(self) -> None:
        """Nothing is held or queued, and either session gets the name, and is told what is so."""
        second = self.scene.second

        def nothing_left() -> bool:
            return there(second, NAME) == ([], [])

        self.settle()
        with interruption.bystander():
            until(nothing_left)
            with second.lock(NAME, timeout=LASTING) as theirs:
                token = theirs.token
        with self.session.lock(NAME, timeout=LASTING) as ours:
            assert ours.token > token
            (holder,) = (self.session.look(NAME)).holders
            assert holder.claim.token == ours.token
        assert there(self.session, BESIDE) == ([], [])

    def run(self, interrupted: interruption.Interrupted) -> str | None:
        """Once, `interrupted`: where, if at all. Raises if anything is not as it must be then."""
        with interruption.bystander():
            held = self.scene.second.lock(BESIDE).acquire()
            waiting = Attempt(lambda: self.session.lock(BESIDE).acquire()) if self.accompanied else None
            if waiting is not None:
                until_waiting(self.scene.second, BESIDE, 1)
            self.prepare()
        where = interrupted(self.do)

        def check() -> None:
            with interruption.bystander():
                held.release()
            if waiting is not None:
                (waiting.outcome()).release()
            self._check()

        try:
            # Beside: whoever is stuck would be stuck here, too.
            Attempt(check).outcome(CHECKED_WITHIN)
        except BaseException as error:
            error.add_note(f"after {where}")
            raise
        return where


class Acquire(Act):
    def do(self) -> None:
        self.grant = self.session.lock(NAME).acquire()


class Try(Act):
    def do(self) -> None:
        self.grant = self.session.lock(NAME).try_acquire()


class Block(Act):
    def do(self) -> None:
        with self.session.lock(NAME):
            pass


class Release(Act):
    def prepare(self) -> None:
        self.grant = self.session.lock(NAME).acquire()

    def do(self) -> None:
        assert self.grant is not None
        self.grant.release()


class HandOver(Release):
    """A release that somebody waits for."""

    def prepare(self) -> None:
        super().prepare()
        self._waiting = Attempt(lambda: self.scene.second.lock(NAME).acquire())
        until_waiting(self.scene.second, NAME, 1)

    def settle(self) -> None:
        super().settle()
        with interruption.bystander():
            (self._waiting.outcome()).release()


class Wait(Act):
    """Until the holder lets go."""

    def prepare(self) -> None:
        self._held = self.scene.second.lock(NAME).acquire()
        self._over = False
        self._letting_go = Attempt(self._let_go)

    def _let_go(self) -> None:
        def enough() -> bool:
            return self._over or len((there(self.scene.second, NAME))[1]) == 1

        until(enough)
        try:
            self._beside()
        finally:
            self._held.release()

    def _beside(self) -> None:
        """What happens to others of the session meanwhile."""

    def do(self) -> None:
        self.grant = self.session.lock(NAME).acquire()

    def settle(self) -> None:
        self._over = True
        self._letting_go.outcome()
        super().settle()


class WaitAndRead(Wait):
    """Until the holder lets go, and before that another of the session is granted what it waits for."""

    accompanied = False

    def prepare(self) -> None:
        self._also = self.scene.second.lock("c").acquire()
        super().prepare()

    def _beside(self) -> None:
        waiting = Attempt(lambda: self.session.lock("c").acquire())
        until_waiting(self.scene.second, "c", 1)
        self._also.release()
        (waiting.outcome()).release()


class WaitInVain(Act):
    def prepare(self) -> None:
        self._held = self.scene.second.lock(NAME).acquire()

    def do(self) -> None:
        try:
            self.session.lock(NAME).acquire(timeout=0.01)
        except AcquireTimeout as refused:
            # Who is in the way is asked last, and not where an answer was lost before that.
            lost = interruption.LOSES_ANSWERS and "it was held" in str(refused)
            if not lost and "held by second" not in str(refused):
                raise

    def settle(self) -> None:
        with interruption.bystander():
            self._held.release()


class TryInVain(WaitInVain):
    def do(self) -> None:
        assert self.session.lock(NAME).try_acquire() is None


class Look(WaitInVain):
    def do(self) -> None:
        (holder,) = (self.session.look(NAME)).holders
        assert holder.claim.token == self._held.token


class Renew(Release):
    """By who asks, where a keeper does it elsewhere."""

    def do(self) -> None:
        assert self.grant is not None
        keeper = self.session.keeper()
        renewal = self.session.engine.lease_renew(keeper.holder, keeper.terms.ttl, [self.grant.claim])
        assert renewal.alive
        assert not renewal.gone

    def settle(self) -> None:
        try:
            super().settle()
        except Lost:
            # An engine whose locks live with a connection may have to end that, and then the holder was told.
            assert self.grant is not None
            assert self.grant.lost.is_set()


class Open(Acquire):
    """The lease, and with it whatever connections there are."""

    accompanied = False

    def prepare(self) -> None:
        self.session.close()
        self.scene.session = self.scene.connect()


class Close(HandOver):
    accompanied = False

    def do(self) -> None:
        self.session.close()

    def settle(self) -> None:
        self.session.close()
        with interruption.bystander():
            if interruption.LOSES_ANSWERS and (there(self.scene.second, NAME))[0] == ["first"]:
                # A close without an answer leaves the lease to its end, which is not waited for here.
                self.scene.second.evict(NAME)
            (self._waiting.outcome()).release()
        self.scene.session = self.scene.connect()


ACTS: dict[str, type[Act]] = {
    "acquire": Acquire,
    "try_acquire": Try,
    "block": Block,
    "release": Release,
    "hand over": HandOver,
    "wait": Wait,
    "wait and read": WaitAndRead,
    "wait in vain": WaitInVain,
    "try in vain": TryInVain,
    "look": Look,
    "renew": Renew,
    "open": Open,
    "close": Close,
}
