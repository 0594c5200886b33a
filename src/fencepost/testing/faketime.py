"""A server whose wall clock is set: `libfaketime`, told by a file. Its monotonic clock goes on as it did."""

import glob
import tempfile
from pathlib import Path

from fencepost.testing.binary import find_binary


class WallClock:
    """Start a server with `env`, and from then on `set_by` moves its clock against the real one."""

    def __init__(self) -> None:
        find_binary("faketime", "faketime")
        (library, *_) = glob.glob("/usr/lib/*/faketime/libfaketime.so.1")
        self._file = Path(tempfile.mkdtemp(prefix="fencepost-clock-")) / "offset"
        self.env = {
            # The C library once more behind it: Debian's Redis locks itself out otherwise, in its own allocator.
            "LD_PRELOAD": f"{library} libc.so.6",
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        self.set_by(0)

    def set_by(self, seconds: int) -> None:
        """So many seconds ahead of the real clock, or behind it if negative."""
        # Put in place whole: the server reads it all the time.
        whole = self._file.with_suffix(".new")
        whole.write_text(f"{seconds:+d}s\n")
        whole.rename(self._file)
