# Generated from src/fencepost/testing/storm/_async/flow.py by tools/unasync.py. Do not edit: run `make gen`.
"""One task or thread of a storm: asks, holds, gives back, again and again, and writes down what it sees."""

import random
from collections.abc import Callable

from fencepost._runtime import threads as runtime
from fencepost._runtime.clock import boottime
from fencepost.errors import AcquireTimeout, NotHeld, Unavailable, Uncertain
from fencepost.primitives._sync.acquirable import Acquirable
from fencepost.primitives._sync.grants import Grants
from fencepost.primitives._sync.session import Session
from fencepost.session._sync.grant import Grant
from fencepost.testing.storm.hazard import threads as hazard
from fencepost.testing.storm.history import Asked, Broke, Ended, Got, Held, Log
from fencepost.testing.storm.plan import Plan, choose

# An engine that is down is not asked all the time. How it ends where the engine has answered, or was not waited for:
BREATH = 0.02
QUIET = ("released", "timeout", "interrupted", "busy")
# What may happen to a lock in a storm. Whatever else comes out of the library is a fault: nobody did anything wrong.
DOUBT = (NotHeld, Unavailable, Uncertain)


class Flow:
    """`who` is its path in the history, of which the first part is the crew, and with it the names."""

    def __init__(
        self, who: str, session: Session, log: Log, dice: random.Random, resting: Callable[[], bool]
    ) -> None:
        self._who = who
        self._crew = who.partition("/")[0]
        self._session = session
        self._log = log
        self._dice = dice
        self._resting = resting

    def live(self) -> None:
        while not self._resting():
            plan = choose(self._dice, self._crew, self._session.traits)
            self._log.write(Asked(boottime(), self._who, plan.names, plan.mode, plan.limit))
            try:
                how = self._turn(plan)
            except Exception as error:
                how = f"{type(error).__name__}: {error}"
                self._log.write(Broke(boottime(), self._who, how))
            self._log.write(Ended(boottime(), self._who, how))
            if how not in QUIET:
                runtime.sleep(BREATH)

    def _turn(self, plan: Plan) -> str:
        """How it ended. Whatever happens to the ask, nothing of it is held afterwards."""
        held: Grant | Grants | None = None
        how = "busy"
        try:
            lock = self._lock(plan)
            with hazard.around(self._dice, *plan.hazard):
                held = lock.try_acquire() if plan.timeout == 0 else lock.acquire(timeout=plan.timeout)
            if held is not None:
                self._hold(held, plan)
        except AcquireTimeout:
            how = "timeout"
        except hazard.Interruption:
            how = "interrupted"
        except DOUBT as error:
            how = type(error).__name__
        return how if held is None else self._give_back(held, plan)

    def _lock(self, plan: Plan) -> Acquirable[Grant] | Acquirable[Grants]:
        name = plan.names[0]
        if len(plan.names) > 1:
            return self._session.lock_all(plan.names)
        if plan.mode == "shared":
            return self._session.rwlock(name).read()
        if plan.mode == "counted":
            return self._session.semaphore(name, limit=plan.limit)
        return self._session.lock(name)

    def _hold(self, held: Grant | Grants, plan: Plan) -> None:
        tokens = tuple(held[name].token for name in plan.names) if isinstance(held, Grants) else (held.token,)
        # The clock before the look, so that both instants lie in the lease, also if we are stopped in between.
        now = boottime()
        if held.held:
            self._log.write(Got(now, self._who, tokens))
            if plan.work:
                runtime.sleep(plan.work)
            now = boottime()
            if held.held:
                self._log.write(Held(now, self._who))

    def _give_back(self, held: Grant | Grants, plan: Plan) -> str:
        try:
            with hazard.around(self._dice, *plan.hazard):
                held.release()
            return "released"
        except hazard.Interruption:
            return self._give_back_after_all(held)
        except DOUBT as error:
            return type(error).__name__

    def _give_back_after_all(self, held: Grant | Grants) -> str:
        """The interruption may have come before the release began: only the caller can know that."""
        try:
            held.release()
        except NotHeld:
            pass
        except DOUBT as error:
            return type(error).__name__
        return "interrupted"
