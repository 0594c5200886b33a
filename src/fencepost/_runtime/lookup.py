"""Where a host is."""

import socket
from typing import Any, TypeAlias

# Family, kind, protocol, canonical name, and the address itself, as the socket module has them.
Found: TypeAlias = list[tuple[Any, Any, int, str, Any]]


def numeric(host: str, port: int) -> Found:
    """Its address, if the host is one already: nobody has to be asked, or waited for. Else nothing."""
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return []
