"""The lock and the command: waited for, held, run, given back."""

from typing import TYPE_CHECKING, NamedTuple

from fencepost._runtime.clock import boottime
from fencepost.cli import exit, say
from fencepost.cli.child import Child, adopt_orphans
from fencepost.cli.grace import Plan
from fencepost.cli.inbox import Inbox
from fencepost.cli.once import begin
from fencepost.cli.sentinel import Sentinel
from fencepost.cli.supervision import stop, supervise
from fencepost.cli.terminal import Terminal
from fencepost.cli.waiting import Waiting
from fencepost.core import event
from fencepost.core.job import check_tick
from fencepost.core.lease import Terms
from fencepost.core.name import check_name, check_text
from fencepost.core.url import parse_url
from fencepost.errors import AcquireTimeout, FencepostError, Lost

if TYPE_CHECKING:
    from fencepost.core.job import Tick
    from fencepost.primitives._sync.acquirable import Acquirable
    from fencepost.primitives._sync.session import Session
    from fencepost.session._sync.grant import Grant


class Order(NamedTuple):
    """What was typed, and looked at before any process is made for it: see `ordered`."""

    name: str
    command: tuple[str, ...]
    url: str
    plan: Plan
    timeout: float | None
    skip: bool
    # What is to be done once: the tick of a schedule, or, to be tried again if it fails, whatever the user calls it.
    tick: "Tick | None" = None


def ordered(order: Order, *, holder: str | None, note: str = "") -> Order:
    """The order itself; ValueError if what was typed will not do."""
    check_name(order.name)
    check_text(note, "a note")
    if holder is not None:
        check_text(holder, "the label of a holder")
    if order.tick is not None:
        check_tick(order.tick)
    parse_url(order.url)
    Terms(order.plan.ttl, order.plan.margin)
    return order


def hold(
    order: Order,
    session: "Session",
    lock: "Acquirable[Grant]",
    inbox: Inbox,
    child: Child,
    sentinel: Sentinel,
) -> int:
    """Wait for the lock, run the command under it, give it back; the exit code."""
    run = None
    try:
        with Waiting(session, order.name):
            if order.tick is None:
                grant = lock.acquire(timeout=0.0 if order.skip else order.timeout)
            else:
                run = begin(order, session, order.tick)
                if run is None:
                    return exit.OK
                grant = run.grant
    except AcquireTimeout as error:
        if order.skip:
            say.note(f"skipped: {error}")
            return exit.OK
        raise
    inbox.collect()
    _listen(session, order.name, inbox)
    try:
        code = _run_child(order, grant, inbox, child, sentinel)
        if run is not None and grant.held:
            run.end(error="" if code == exit.OK else f"exit code {code}")
    finally:
        lost = _give_back(grant)
    if lost is not None:
        outcome = "the command was stopped" if code is None else "the command had ended by then"
        say.error(f"{lost}; {outcome}", exit.LOST)
    return exit.LOST if lost is not None or code is None else code


def _give_back(grant: "Grant") -> Lost | None:
    """Release it; the loss, if it was not ours any more."""
    try:
        grant.release()
    except Lost as error:
        return error
    except FencepostError as error:
        say.note(str(error))
    return None


def _run_child(order: Order, grant: "Grant", inbox: Inbox, child: Child, sentinel: Sentinel) -> int | None:
    """The exit code of the command; None if it was stopped because the lock was lost."""
    adopt_orphans()
    terminal = Terminal()
    grant.check()
    proven_until = boottime() + grant.remaining()
    try:
        terminal.lend_at_start(child.group)
        try:
            child.start(FENCEPOST_NAME=order.name, FENCEPOST_TOKEN=str(grant.token), FENCEPOST_URL=order.url)
        except OSError as error:
            say.error(f"'{order.command[0]}' can not be run: {(error.strerror or str(error)).lower()}", 0)
            return exit.NOT_FOUND if isinstance(error, FileNotFoundError) else exit.NOT_EXECUTABLE
        stopped = not supervise(child, grant, inbox, terminal, grace=order.plan.grace, proven_until=proven_until)
    except BaseException:
        stop(child, inbox, deadline=0.0)
        raise
    finally:
        sentinel.dismiss()
        terminal.take_back(child.group)
        terminal.close()
    return None if stopped or child.status is None else exit.code_of_child(child.status)


def _listen(session: "Session", name: str, inbox: Inbox) -> None:
    """Wake the main thread when the lease changes, and say when it is in danger."""
    troubled = False

    def on_trouble(happened: event.Event) -> None:
        nonlocal troubled
        if isinstance(happened, event.Jeopardy) and not troubled:
            say.note(f"renewal failed, '{name}' is ours for {happened.remaining:.1f} s more: {happened.reason}")
        elif isinstance(happened, event.Recovered):
            say.note(f"renewals work again, '{name}' was not lost")
        troubled = isinstance(happened, event.Jeopardy)

    session.subscribe(on_trouble, event.Jeopardy, event.Recovered)
    session.subscribe(inbox.ring, event.Renewed, event.Lost)
