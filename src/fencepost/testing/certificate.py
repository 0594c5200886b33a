"""What an encrypted server under test shows its clients."""

import subprocess
import tempfile
from pathlib import Path

from fencepost.testing.binary import find_binary


def own_certificate() -> tuple[Path, Path]:
    """A certificate and its key, in a folder of their own."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-tls-"))
    certificate, key = folder / "server.crt", folder / "server.key"
    make_certificate(certificate, key)
    return certificate, key


def make_certificate(certificate: Path, key: Path) -> None:
    """One that signs itself, for 127.0.0.1."""
    subject = ("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2")
    kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    argv = [find_binary("openssl", "openssl"), "req", "-x509", *kind, *subject]
    argv += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(argv, check=True, capture_output=True)
