"""Stops whoever holds the lock for longer than its lease lives, then lets it go on as if nothing had happened."""

import random

import fencepost
from fencepost.demo.crew import Crew, Member
from fencepost.demo.posting import NAME

# Near the time to live is where writes-only fencing loses most: the next holder has read, and not yet written.
PAUSE_TTLS = (1.25, 1.5)
GAP_TTLS = (0.5, 1.0)


class Nemesis:
    """`pauses` counts all, `overtaken` those during which somebody else was granted the lock."""

    def __init__(self, session: fencepost.Session, crew: Crew, ttl: float, seed: str, *, now: float) -> None:
        self._session = session
        self._crew = crew
        self._ttl = ttl
        self._dice = random.Random(seed)
        self._victim: Member | None = None
        self._next_at = now + ttl
        self.pauses = 0
        self.overtaken = 0
        self.holder = ""
        self.token = 0

    def act(self, now: float) -> None:
        """One look, and at most one deed."""
        self.look()
        if now < self._next_at:
            return
        if self._victim is not None:
            self.overtaken += self.holder not in ("", self._victim.name)
            self.relent()
            self._next_at = now + self._ttl * self._dice.uniform(*GAP_TTLS)
        elif self._strike():
            self.pauses += 1
            self._next_at = now + self._ttl * self._dice.uniform(*PAUSE_TTLS)

    def look(self) -> None:
        try:
            holders = self._session.look(NAME).holders
        except fencepost.EngineError:
            # The thread that renews the victim's lease was inside the engine's gate when we stopped it: let it out.
            self.relent()
            return
        self.holder, self.token = (holders[0].claim.holder.label, holders[0].claim.token or 0) if holders else ("", 0)

    def relent(self) -> None:
        if self._victim is not None:
            self._victim.resume()
            self._victim = None

    def _strike(self) -> bool:
        """Stop the holder if it thinks. Between our look and the stop it may have moved on: then let it."""
        victim = self._crew.members.get(self.holder)
        if victim is None or not victim.is_thinking(self.token):
            return False
        victim.pause()
        self._victim = victim
        self._crew.listen(0)
        if not victim.is_thinking(self.token):
            self.relent()
        return self._victim is not None
