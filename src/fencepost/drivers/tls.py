"""TLS as a URL asks for it: `ca`, `cert` and `key` name files."""

import ssl

from fencepost.core.url import Url

TLS_OPTIONS = ("ca", "cert", "key")


def optional_context(url: Url) -> ssl.SSLContext | None:
    """For schemes that encrypt when asked to, by `tls=yes`. Anything that might mean it and does not is refused."""
    wanted = url.options.get("tls", "no")
    if wanted not in ("yes", "no"):
        raise ValueError(f"option 'tls' in {url} is yes or no, not {url.shown(wanted)}")
    if wanted == "yes":
        return context_of(url)
    for option in TLS_OPTIONS:
        if option in url.options:
            raise ValueError(f"option '{option}' in {url} is for TLS: add tls=yes")
    return None


def context_of(url: Url) -> ssl.SSLContext:
    """ValueError if a file can not be read."""
    for option in TLS_OPTIONS:
        if url.options.get(option) == "":
            # It would not be missed: without a file those of the system are trusted.
            raise ValueError(f"option '{option}' in {url} names no file")
    if "key" in url.options and "cert" not in url.options:
        raise ValueError(f"option 'key' in {url} is of a certificate: add cert=")
    try:
        context = ssl.create_default_context(cafile=url.options.get("ca"))
        if "cert" in url.options:
            context.load_cert_chain(url.options["cert"], url.options.get("key"))
    except OSError as error:
        raise ValueError(f"the certificates in {url} can not be read: {error}") from error
    return context
