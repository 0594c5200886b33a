"""What a platform that lacks calls says of all that needs them: one line each."""

import sys
from collections.abc import Callable

from tests.support.platform.lack import remove

if __name__ == "__main__":
    remove(sys.argv[1])

    import asyncio
    import tempfile

    import fencepost
    from fencepost.fences import FileFence
    from fencepost.fences.host import AsyncHostFence, HostFence

    FOLDER = tempfile.gettempdir()
    ASKED: dict[str, Callable[[], object]] = {
        "connect": fencepost.connect,
        "connect_async": fencepost.connect_async,
        "sqlite": lambda: fencepost.connect("sqlite:///tmp/locks.db"),
        "redis+unix": lambda: fencepost.connect("redis+unix:///tmp/redis.sock"),
        "file": lambda: FileFence(f"{FOLDER}/report.csv"),
        "host": lambda: HostFence(f"{FOLDER}/marks"),
        "async host": lambda: AsyncHostFence(f"{FOLDER}/marks"),
    }

    async def ask() -> None:
        for what, call in ASKED.items():
            try:
                call()
            except fencepost.Unsupported as error:
                print(f"{what}: {error}")

    asyncio.run(ask())
