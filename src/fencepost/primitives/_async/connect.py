# Written by hand; the blocking twin under _sync is generated from it.
"""From a URL to a session."""

import os
import socket
from collections.abc import Mapping
from typing import Any

from fencepost._runtime import aio as runtime
from fencepost.contract import registry
from fencepost.contract._async.engine import AsyncEngine
from fencepost.contract.ttl import ChecksTtl
from fencepost.core.lease import Terms
from fencepost.core.limit import patience
from fencepost.core.name import check_text
from fencepost.core.url import parse_url
from fencepost.errors import Unsupported
from fencepost.instrumentation import log
from fencepost.primitives._async.session import AsyncSession

EMBEDDED = "sqlite://"


def connect_async(
    url: str | None = None,
    *,
    ttl: float = 10.0,
    margin: float = 0.0,
    holder: str | None = None,
    requires: Mapping[str, Any] | None = None,
    clock: runtime.Clock | None = None,
) -> AsyncSession:
    """A session at the engine that `url` names: by default `$FENCEPOST_URL`, else the embedded one on this host.

    `ttl`: how many seconds a lock outlives a holder that vanished. `margin`: how many seconds before the engine
    may grant a lock to another its holder is told that it is lost. `holder`: what others see as the owner.
    `requires`: traits the engine must have, checked here. Bad arguments raise here; the engine is first asked
    when the session is entered, or a lock acquired. In the child of a fork it begins anew, with a lease of its own.
    """
    if url is not None and not isinstance(url, str):
        raise TypeError(f"an engine URL is text, not {type(url).__name__}: use str(…) on it")
    if clock is not None and not all(callable(getattr(clock, method, None)) for method in ("now", "wait", "alarm")):
        raise TypeError(f"a clock has now, wait and alarm, and a {type(clock).__name__} has not")
    terms = Terms(ttl, margin)
    if holder is not None:
        check_text(holder, "the label of a holder")
    address = parse_url(url or os.environ.get("FENCEPOST_URL") or EMBEDDED)
    kind = registry.async_engine(address.scheme)
    shortfalls = kind.traits.shortfalls({} if requires is None else requires)
    if shortfalls:
        raise Unsupported(f"{address.scheme}:// does not give what is required: {'; '.join(shortfalls)}")
    clock = clock or runtime.BootClock()
    here = clock

    def remake() -> tuple[AsyncEngine, str]:
        return kind(address, clock=here, patience=patience(terms)), holder or default_label()

    engine, label = remake()
    # Of the engine, not of its kind: an address may say that its server can keep shorter ones.
    if terms.ttl < engine.traits.ttl_floor:
        raise ValueError(
            f"ttl {terms.ttl:g} s is shorter than {address.scheme}:// can keep: "
            f"use {engine.traits.ttl_floor:g} s or more"
        )
    if isinstance(engine, ChecksTtl):
        engine.check_ttl(terms.ttl)
    session = AsyncSession(engine, terms, label=label, clock=clock, remake=remake)
    session.subscribe(log.write, *log.kinds())
    return session


def default_label() -> str:
    named = os.environ.get("FENCEPOST_HOLDER")
    return (
        check_text(named, "the label of a holder ($FENCEPOST_HOLDER)")
        if named
        else f"{socket.gethostname()}:{os.getpid()}"
    )
