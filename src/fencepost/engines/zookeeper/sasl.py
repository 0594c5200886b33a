"""Saying who we are by SASL, with the package that kazoo uses for it, too. Loaded only if it is asked for."""

from typing import Any

from fencepost.engines.zookeeper.address import Address
from fencepost.errors import Refused, Unsupported

# What the Java servers call themselves in DIGEST-MD5, wherever they run.
REALM = "zk-sasl-md5"


class Exchange:
    """One negotiation: an `answer` to nothing, and then to each challenge of the server."""

    def __init__(self, address: Address, host: str) -> None:
        client = _client()
        mechanism = address.sasl or ""
        who = {"username": address.username, "password": address.password} if mechanism == "DIGEST-MD5" else {}
        self._client = client(
            host=REALM if mechanism == "DIGEST-MD5" else host, service=address.service, mechanism=mechanism, **who
        )

    def answer(self, challenge: bytes | None) -> bytes | None:
        """What to send; None if all is said."""
        if self._client.complete:
            return None
        try:
            response = self._client.process(challenge=challenge)
        except Exception as error:
            raise Refused(f"the servers' SASL challenge can not be answered: {error}") from error
        return None if self._client.complete and not response else bytes(response or b"")


def _client() -> Any:
    try:
        from puresasl.client import SASLClient
    except ModuleNotFoundError as error:
        raise Unsupported("sasl= needs the package 'pure-sasl': pip install 'fencepost[zookeeper]'") from error
    return SASLClient
