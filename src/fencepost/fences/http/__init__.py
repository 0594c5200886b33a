"""Fencing over HTTP: a client shows its token in a header; the service, or a gateway before it, refuses stale ones."""

from fencepost.fences.http.asgi import FencedAsgi
from fencepost.fences.http.client import Presented, raise_if_stale
from fencepost.fences.http.gateway import Gateway
from fencepost.fences.http.header import HEADER, MARK
from fencepost.fences.http.wsgi import FencedWsgi

__all__ = ["HEADER", "MARK", "FencedAsgi", "FencedWsgi", "Gateway", "Presented", "raise_if_stale"]
