"""One random life of an engine: what its holders do, what happens to them, and what must be so after every step."""

import asyncio
import inspect
import itertools
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from fencepost._runtime import aio, threads
from fencepost.contract.answer import Busy, Gone, Granted, Queued
from fencepost.core.claim import Ask, Claim, Mode, Request
from fencepost.core.holder import Holder
from fencepost.core.traits import Traits
from fencepost.testing.model import Entry, Model

NAMES = ("a", "b", "c")
HOLDERS = 4
TTLS = (5.0, 10.0, 20.0)
ANSWERS = {Granted: "granted", Queued: "queued", Busy: "busy", Gone: "gone"}
picks = st.integers(0, 2**16)
seldom = st.sampled_from((False, False, False, False, False, True))


class EngineMachine(RuleBasedStateMachine):
    """`met` counts what the lives of one machine came across, and is shared by all of them."""

    met: Counter[str]
    make: Callable[[str, Any], Any]
    new_clock: Callable[[], Any]

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = self.new_clock()
        self.virtual = not isinstance(self.clock, threads.BootClock | aio.BootClock)
        self.ttls = TTLS if self.virtual else (600.0,)
        self.model = Model()
        self.serials = itertools.count(1)
        self.engines: list[Any] = []
        self.holders: list[Holder] = []
        self.requests: list[Request] = []
        self.places: dict[Request, Queued] = {}
        self.tokens: dict[tuple[str, int, str], int] = {}
        self.entries: dict[tuple[str, int, str], Entry] = {}
        self.highest: dict[str, int] = {}
        # What its holder has released or withdrawn, and so does not believe to hold.
        self.given_up: set[tuple[str, int, str]] = set()
        self.refused: set[Request] = set()

    @initialize()
    def connect(self) -> None:
        store = uuid.uuid4().hex
        for number in range(HOLDERS):
            self.engines.append(self.do(self._made(store)))
            self.holders.append(self._holder(number))
            self.open(number, 1)

    async def _made(self, store: str) -> Any:
        """Connect inside the loop, for drivers that look for a running one."""
        return type(self).make(store, self.clock)

    def do(self, call: Any) -> Any:
        """What a call gives, in either flavour."""
        return self.loop.run_until_complete(call) if inspect.isawaitable(call) else call

    @property
    def traits(self) -> Traits:
        traits: Traits = self.engines[0].traits
        return traits

    # What holders do

    @rule(number=picks, ttl=picks)
    def reconnect(self, number: int, ttl: int) -> None:
        """A holder whose lease is over comes back with another."""
        number %= HOLDERS
        if self.holders[number].id not in self.model.leases:
            self.holders[number] = self._holder(number)
            self.open(number, ttl)

    def open(self, number: int, ttl: int) -> None:
        holder, seconds = self.holders[number], self.ttls[ttl % len(self.ttls)]
        self.do(self.engines[number].lease_open(holder, seconds))
        self.model.open(holder, seconds)

    @rule(number=picks, ttl=picks)
    def renew(self, number: int, ttl: int) -> None:
        number %= HOLDERS
        holder, seconds = self.holders[number], self.ttls[ttl % len(self.ttls)]
        believed = [
            Claim(request.holder, request.serial, ask, token)
            for request in self.requests
            if request.holder == holder
            for ask in request.asks
            if (key := (holder.id, request.serial, ask.name)) not in self.given_up and (token := self.tokens.get(key))
        ]
        renewal = self.do(self.engines[number].lease_renew(holder, seconds, believed))
        assert renewal.alive == self.model.renew(holder, seconds), "a renewal is alive as long as its lease"
        if renewal.alive:
            gone = {(claim.serial, claim.name) for claim in believed if not self._holds(claim)}
            assert {(serial, name) for serial, name, _ in renewal.gone} == gone, "a renewal tells what is gone"

    @rule(
        number=picks,
        names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
        mode=st.sampled_from(Mode),
        limit=st.integers(1, 3),
        weight=st.integers(1, 3),
        priority=st.sampled_from((0, 0, 0, 1, 100, -1)),
        wait=st.booleans(),
        dead=seldom,
    )
    def claim(
        self,
        number: int,
        names: list[str],
        mode: Mode,
        limit: int,
        weight: int,
        priority: int,
        wait: bool,
        dead: bool = False,
    ) -> None:
        number %= HOLDERS
        if dead:
            self.close(number)
        else:
            self.reconnect(number, 1)
        if not self._supported(mode) or (len(names) > 1 and not self.traits.together):
            return
        counted = mode is Mode.COUNTED
        asks = tuple(Ask(name, mode, min(weight, limit) if counted else 1, limit if counted else 1) for name in names)
        lead = priority if self.traits.priority else 0
        request = Request(self.holders[number], next(self.serials), asks, lead)
        self.requests.append(request)
        self._ask(request, wait=wait)

    @rule(
        name=st.sampled_from(NAMES),
        order=st.permutations(range(HOLDERS)),
        modes=st.lists(st.sampled_from(Mode), min_size=HOLDERS, max_size=HOLDERS),
    )
    def crowd(self, name: str, order: list[int], modes: list[Mode]) -> None:
        """All want the same, and stand in line for it."""
        for number, mode in zip(order, modes, strict=True):
            self.claim(number, [name], mode, limit=2, weight=1, priority=0, wait=True)

    @precondition(lambda self: self.requests)
    @rule(which=picks, wait=st.booleans())
    def ask_again(self, which: int, wait: bool) -> None:
        """As a session does that did not get the answer: never for what it has given up or was refused."""
        request = self._pick(which)
        entry = self.model.find(request)
        if not self._gave_up(request) and request not in self.refused and (entry is None or entry.granted or wait):
            self._ask(request, wait=wait)

    @precondition(lambda self: self.places)
    @rule(which=picks)
    def wait(self, which: int) -> None:
        ready = [each for each in self.places if (entry := self.model.find(each)) is not None and entry.granted]
        waiting = ready or list(self.places)
        request = waiting[which % len(waiting)]
        entry = self.model.find(request)
        answer = self.do(self._engine(request).wait(self.places[request], 0.0))
        self.met["handed over"] += isinstance(answer, Granted)
        if isinstance(answer, Granted) and (entry is None or not entry.whole) and answer.tokens == self._seen(request):
            # Evicted between the grant and the news of it: the holder learns that with its next renewal.
            del self.places[request]
        else:
            self._check(request, answer, self.model.claim(request, wait=True))

    @precondition(lambda self: self.requests)
    @rule(which=picks)
    def withdraw(self, which: int) -> None:
        request = self._pick(which)
        self.met["withdrawn while waiting"] += request in self.places
        self.do(self._engine(request).withdraw(request))
        self.model.withdraw(request)
        self.places.pop(request, None)
        self.given_up.update((request.holder.id, request.serial, ask.name) for ask in request.asks)

    @precondition(lambda self: self.tokens)
    @rule(which=picks)
    def release(self, which: int) -> None:
        """Of what is held, or was."""
        keys = list(self.tokens)
        self._release(*keys[which % len(keys)])

    @precondition(lambda self: self.places)
    @rule(which=picks)
    def hand_over(self, which: int) -> None:
        """Those who hold what another waits for give it back, and it hears of that."""
        waiting = list(self.places)
        for ask in waiting[which % len(waiting)].asks:
            for entry in self.model.holders(ask.name):
                if (*entry.key, ask.name) in self.tokens:
                    self._release(*entry.key, ask.name)
        if self.places:
            self.wait(which)

    def _release(self, holder_id: str, serial: int, name: str) -> None:
        request = next(each for each in self.requests if (each.holder.id, each.serial) == (holder_id, serial))
        entry = self.model.find(request)
        if entry is not None and not entry.granted:
            # Evicted, it asked again: nobody gives back what it is waiting for.
            return
        key = (holder_id, serial, name)
        ask = next(ask for ask in request.asks if ask.name == name)
        claim = Claim(request.holder, serial, ask, self.tokens[key])
        was_held = self.model.release(request, name)
        self.given_up.add(key)
        self.places.pop(request, None)
        assert self.do(self._engine(request).release(claim)) == was_held, "a release tells whether it was held"

    @rule(number=picks, really=seldom)
    def leave(self, number: int, really: bool) -> None:
        if really:
            self.close(number)

    def close(self, number: int) -> None:
        number %= HOLDERS
        self.do(self.engines[number].lease_close(self.holders[number]))
        self.model.close(self.holders[number])

    # What happens to holders

    @rule(name=st.sampled_from(NAMES))
    def evict(self, name: str) -> None:
        wanted = [(*entry.key, self.tokens.get((*entry.key, name))) for entry in self.model.evict(name)]
        taken = self.do(self.engines[0].evict(name, "operator"))
        assert [(claim.holder.id, claim.serial, claim.token) for claim in taken] == wanted, "eviction takes all holders"
        if taken:
            self.met["evicted"] += 1
            records = {(record.token, record.by) for record in self.do(self.engines[0].look(name)).evictions}
            assert records >= {(claim.token, "operator") for claim in taken}, "an eviction is on record"

    @precondition(lambda self: self.virtual)
    @rule(seconds=st.sampled_from((1.0, 4.0, 5.0, 11.0, 21.0)))
    def pass_time(self, seconds: float) -> None:
        self.do(self.clock.advance(seconds))
        self.model.advance(seconds)

    # What must be so after every step

    @invariant()
    def the_engine_agrees_with_the_model(self) -> None:
        if not self.engines:
            return
        for name in NAMES:
            # An engine may notice a death only when somebody comes to that name.
            self.do(self.engines[0].look(name))
        for name in NAMES:
            self._compare(name)
        assert list(self.do(self.engines[0].names(""))) == self.model.names(), "names that are held or waited for"

    def _compare(self, name: str) -> None:
        snapshot = self.do(self.engines[-1].look(name))
        holders, waiters = self.model.holders(name), self.model.waiters(name)
        assert _keys(snapshot.holders) == [entry.key for entry in holders], f"who holds '{name}'"
        assert _keys(snapshot.waiters) == [entry.key for entry in waiters], f"who waits for '{name}', in order"
        priorities = [entry.request.priority for entry in waiters]
        assert [standing.priority for standing in snapshot.waiters] == priorities, "the priority of a waiter"
        for standing, entry in zip(snapshot.holders, holders, strict=True):
            self._check_token(entry, name, standing.claim.token)
            if self.virtual:
                left = self.model.leases[entry.request.holder.id] - self.model.now
                assert abs(standing.remaining - left) < 0.001, "what is left of a lease"

    def _check_token(self, entry: Entry, name: str, token: int) -> None:
        key = (*entry.key, name)
        if self.entries.get(key) is entry:
            assert token == self.tokens[key], f"a grant of '{name}' keeps its token"
        else:
            assert token > self.highest.get(name, 0), f"tokens of '{name}' grow in the order of its grants"
            self.tokens[key] = self.highest[name] = token
            self.entries[key] = entry

    def teardown(self) -> None:
        try:
            if self.engines:
                for number in range(HOLDERS):
                    self.close(number)
                self.the_engine_agrees_with_the_model()
                assert not self.model.line
        finally:
            for engine in self.engines:
                self.do(engine.close())
            self.loop.close()

    # In short

    def _ask(self, request: Request, *, wait: bool) -> None:
        answer = self.do(self._engine(request).claim(request, wait=wait))
        self._check(request, answer, self.model.claim(request, wait=wait))

    def _check(self, request: Request, answer: Granted | Queued | Busy | Gone, wanted: str) -> None:
        self.met[ANSWERS[type(answer)]] += 1
        assert ANSWERS[type(answer)] == wanted, f"the answer is {answer}, and should be '{wanted}'"
        self.places.pop(request, None)
        if isinstance(answer, Queued):
            self.places[request] = answer
        elif isinstance(answer, Busy):
            self.refused.add(request)
        elif isinstance(answer, Granted):
            self.the_engine_agrees_with_the_model()
            assert answer.tokens == self._seen(request), "the tokens of the answer are those that others see"

    def _seen(self, request: Request) -> tuple[int | None, ...]:
        return tuple(self.tokens.get((request.holder.id, request.serial, ask.name)) for ask in request.asks)

    def _gave_up(self, request: Request) -> bool:
        return any((request.holder.id, request.serial, ask.name) in self.given_up for ask in request.asks)

    def _holds(self, claim: Claim) -> bool:
        return any(entry.key == (claim.holder.id, claim.serial) for entry in self.model.holders(claim.name))

    def _supported(self, mode: Mode) -> bool:
        return {Mode.SHARED: self.traits.shared, Mode.COUNTED: self.traits.counted}.get(mode, True)

    def _pick(self, which: int) -> Request:
        # The latest are the most interesting.
        return self.requests[-1 - which % min(8, len(self.requests))]

    def _engine(self, request: Request) -> Any:
        return self.engines[int(request.holder.label)]

    def _holder(self, number: int) -> Holder:
        return Holder(uuid.uuid4().hex, str(number))


def _keys(standings: Any) -> list[tuple[str, int]]:
    return [(standing.claim.holder.id, standing.claim.serial) for standing in standings]
