# Written by hand; the blocking twin under _sync is generated from it.
"""The strings of a worker process: tell it what to do, stop it, kill it."""

import json
import signal
from types import TracebackType
from typing import Any, Self

from fencepost._runtime import aio as runtime
from fencepost.testing.contract.forkserver import shared_forkserver
from fencepost.testing.contract.site import Site

PROGRAM = "fencepost.testing.contract._async.worker"


class AsyncPuppet:
    """A worker process at a site. It is killed, if need be, when the block ends."""

    def __init__(self, site: Site, label: str, *, ttl: float | None = None) -> None:
        self._process = shared_forkserver().fork(PROGRAM, site.url, label, ttl or site.ttl)
        self.label = label

    async def __aenter__(self) -> Self:
        await self.answer()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.kill()
        self._process.close()

    def tell(self, order: str, **details: Any) -> None:
        """Give an order; `answer` waits for what comes of it."""
        self._process.stdin.write(json.dumps({"do": order, **details}) + "\n")
        self._process.stdin.flush()

    async def answer(self) -> dict[str, Any]:
        line = await runtime.in_thread(self._process.stdout.readline)
        if not line:
            raise AssertionError(f"worker '{self.label}' ended with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def ask(self, order: str, **details: Any) -> dict[str, Any]:
        self.tell(order, **details)
        return await self.answer()

    def stop(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    async def kill(self) -> None:
        self.kill_at_once()
        await runtime.in_thread(self._process.wait)

    def kill_at_once(self) -> None:
        """Without waiting for the end: the process is a zombie until somebody does."""
        self._process.kill()
