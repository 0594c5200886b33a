"""TLS as a URL asks for it: `ca`, `cert` and `key` name files."""

import ssl

from fencepost.core.url import Url


def context_of(url: Url) -> ssl.SSLContext:
    """ValueError if a file can not be read."""
    try:
        context = ssl.create_default_context(cafile=url.options.get("ca"))
        if "cert" in url.options:
            context.load_cert_chain(url.options["cert"], url.options.get("key"))
    except OSError as error:
        raise ValueError(f"the certificates in {url} can not be read: {error}") from error
    return context
