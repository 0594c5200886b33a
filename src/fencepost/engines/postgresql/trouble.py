"""What went wrong with PostgreSQL, in words, and whether trying again can help."""

import ssl

from psycopg import pq

from fencepost.engines.postgresql.address import Address
from fencepost.errors import EngineError, Refused, Unavailable

# Classes of SQLSTATE that pass by themselves: connection, transaction rollback, resources, operator's intervention,
# system; and a session that was ended because a transaction took too long. Everything else stays as it is until
# somebody changes something.
PASSING = ("08", "40", "53", "55", "57", "58", "25P03", "25P04")
ADVICE = {
    "0B000": "a pooler is not ours to set: ALTER ROLE … SET default_transaction_isolation = 'read committed'",
    "25006": "the server is read-only: name the primary, or all hosts, which are tried in turn",
    "42501": "see docs/engines/postgresql.md for the rights a role needs",
    "53200": "raise max_locks_per_transaction on the server",
    "53300": "raise max_connections on the server, or use postgresql:// behind a pooler",
}
# libpq has no SQLSTATE for a server that does not let us in; these pass by themselves.
PASSING_GREETINGS = (
    "starting up",
    "shutting down",
    "recovery mode",
    "not yet accepting",
    "too many clients",
    "too many connections",
    "remaining connection slots",
    "no more connections allowed",
    "read-only",
    "hot standby mode is disabled",
    "terminating connection",
    "canceling authentication due to timeout",
    "client_login_timeout",
    "query_wait_timeout",
    "server_login_retry",
)
# In libpq's words: the certificate of the server, or ours, which the server does not take. Hosts and users may be named
# after certificates, so no word of these stands alone.
CERTIFICATE = (
    "certificate verify failed",
    "server certificate for ",
    "root certificate file ",
    "alert unknown ca",
    "alert bad certificate",
    "alert certificate ",
    "certificate required",
    "requires a valid client certificate",
)


class ServerError(Exception):
    """The server answered with an error: the statement did not happen."""

    def __init__(self, result: pq.abc.PGresult) -> None:
        fields = pq.DiagnosticField
        self.state = (result.error_field(fields.SQLSTATE) or b"").decode(errors="replace")
        self.primary = (result.error_field(fields.MESSAGE_PRIMARY) or b"").decode(errors="replace")
        told = self.primary or " ".join(result.get_error_message().split())
        super().__init__(f"{told} ({self.state})" if self.state else told)


def explain(error: ServerError, address: Address) -> EngineError:
    if not error.state:
        # Not the server's own words, but libpq's for a server that said nothing more.
        return lost(address, str(error))
    kind = Unavailable if error.state.startswith(PASSING) else Refused
    advice = ADVICE.get(error.state)
    return kind(f"postgresql at {address} answered: {error}{f': {advice}' if advice else ''}")


def not_let_in(message: str, address: Address) -> EngineError:
    """`message` is libpq's, with a line for each host that it tried."""
    told = " ".join(message.split()) or "no answer"
    refused = "FATAL" in told and not any(greeting in told for greeting in PASSING_GREETINGS)
    found = (Refused if refused else Unavailable)(f"no connection to postgresql at {address}: {told}")
    if any(words in told for words in CERTIFICATE):
        # As our other connections have it; libpq only says so.
        found.__cause__ = ssl.SSLCertVerificationError(1, told)
    return found


def late(address: Address, waited: float) -> Unavailable:
    return Unavailable(f"postgresql at {address} did not answer within {waited:.3g} s")


def lost(address: Address, why: str) -> Unavailable:
    return Unavailable(f"the connection to postgresql at {address} was lost: {' '.join(why.split()) or 'it ended'}")
