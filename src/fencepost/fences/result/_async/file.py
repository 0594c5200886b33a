# Written by hand; the blocking twin under _sync is generated from it.
"""Results in a file of this host: what the embedded engine uses where nothing else is given."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

from fencepost._runtime import aio as runtime
from fencepost.core.name import check_name
from fencepost.fences.private import check_path, open_private
from fencepost.fences.protocol import Tokened, token_of
from fencepost.fences.result._sync.sql import SqlResults
from fencepost.fences.result.lifetime import check_result


class AsyncFileResults:
    """Results in the SQLite database at `path`, for all processes of this host. On disk when `keep` returns."""

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self._path = os.path.abspath(check_path(path))

    async def find(self, name: str) -> str | None:
        return await runtime.in_thread(self._find, check_name(name))

    async def claim(self, name: str, grant: Tokened | int) -> str | None:
        return await runtime.in_thread(self._claim, check_name(name), token_of(grant))

    async def keep(self, name: str, grant: Tokened | int, value: str, expires_in: float | None) -> None:
        lasting = check_result(value, expires_in)
        await runtime.in_thread(self._keep, check_name(name), token_of(grant), value, lasting)

    @asynccontextmanager
    async def work(self) -> "AsyncIterator[None]":
        yield

    def _find(self, name: str) -> str | None:
        if not os.path.exists(self._path):
            return None
        with closing(open_private(self._path)) as connection:
            return SqlResults(connection).find(name)

    def _claim(self, name: str, grant: int) -> str | None:
        with closing(open_private(self._path)) as connection:
            return SqlResults(connection).claim(name, grant)

    def _keep(self, name: str, grant: int, value: str, expires_in: float | None) -> None:
        with closing(open_private(self._path)) as connection:
            results = SqlResults(connection)
            results.keep(name, grant, value, expires_in)
            results.forget()
