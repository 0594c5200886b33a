"""Our own command, where a test sets the scene by its environment. Nothing else is different.

STAGE_CUT     while this file exists, no renewal is answered
STAGE_RENEW   how many seconds there are between two renewals, however long the lease
STAGE_SAFETY  how many seconds before the end of a lease a command that does not heed must be dead
STAGE_FORK    a signal that comes to us within the first fork, at the moment where Python drops what a handler raises
"""

import os
import sys
from collections.abc import Collection

from fencepost.cli import grace, main
from fencepost.contract.answer import Renewal
from fencepost.core.claim import Claim
from fencepost.core.holder import Holder
from fencepost.core.lease import Terms
from fencepost.engines.sqlite._sync.engine import Engine
from fencepost.errors import Unavailable


def set_scene() -> None:
    if cut := os.environ.pop("STAGE_CUT", ""):
        renew = Engine.lease_renew

        def lease_renew(self: Engine, holder: Holder, ttl: float, claims: Collection[Claim]) -> Renewal:
            if os.path.exists(cut):
                raise Unavailable("cut off")
            return renew(self, holder, ttl, claims)

        Engine.lease_renew = lease_renew  # type: ignore[method-assign]
    if pause := float(os.environ.pop("STAGE_RENEW", 0)):

        def renew_at(self: Terms, sent_at: float) -> float:
            return sent_at + pause

        Terms.renew_at = renew_at  # type: ignore[method-assign]
    if signum := int(os.environ.pop("STAGE_FORK", 0)):
        os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), signum))
    if safety := float(os.environ.pop("STAGE_SAFETY", 0)):
        grace.SAFETY_SHARE, grace.MOST_SAFETY = 1.0, safety


if __name__ == "__main__":
    set_scene()
    sys.exit(main())
