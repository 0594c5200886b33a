"""Standard input, output and error, also where whoever started us closed them."""

import io
import os
import sys


def ensure_streams() -> None:
    """Put /dev/null where nothing is: else the next file to be opened would be taken for one of the three.

    The command still finds them closed, as they were. What can not be encoded is escaped, rather than an error.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdin", "stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
        elif name == "stdout" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
