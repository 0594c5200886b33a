"""Whether an engine can be reached at all, or is not the one that we are to trust."""

import sys

from fencepost.errors import EngineError, Refused, Unavailable

# What OpenSSL says of certificates: of the server's, or, told by the server, of ours.
REASONS = ("CERTIFICATE", "UNKNOWN_CA")


def verdict(error: EngineError) -> EngineError:
    """The error for those who begin something: `Refused` if a certificate is in the way, since it stays there.

    Engines say `Unavailable`, and what was begun is settled when the right certificate is back: a server may show a
    wrong one for a while.
    """
    cause = error.__cause__
    if not isinstance(error, Unavailable) or cause is None:
        return error
    # Whoever has met a certificate has loaded it: most programs do without.
    ssl = sys.modules.get("ssl")
    if ssl is None:
        return error
    reason = getattr(cause, "reason", None) or ""
    theirs = isinstance(cause, ssl.SSLCertVerificationError)
    if theirs or (isinstance(cause, ssl.SSLError) and any(each in reason for each in REASONS)):
        refused = Refused(f"{error}: check the certificates")
        refused.__cause__ = cause
        return refused
    return error
