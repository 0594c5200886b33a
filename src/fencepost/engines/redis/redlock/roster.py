"""The nodes a URL names, and how long each has to answer."""

from dataclasses import replace
from math import isfinite
from typing import NamedTuple

from fencepost.core.url import Url
from fencepost.drivers.tls import TLS_OPTIONS
from fencepost.engines.redis.address import Address, addresses, database

FEWEST = 3
# Of what a call may take in all: a claim may need two rounds, to ask and to write its token back.
SHARE = 2


class Roster(NamedTuple):
    nodes: tuple[Address, ...]
    timeout: float
    prefix: str

    @property
    def majority(self) -> int:
        return len(self.nodes) // 2 + 1


def roster(url: Url, patience: float) -> Roster:
    url.check_options("prefix", "node_timeout", "tls", *TLS_OPTIONS)
    db = database(url, url.path.strip("/"))
    nodes = tuple(replace(each, db=db) for each in addresses(url))
    seen: set[tuple[str, int]] = set()
    for node in nodes:
        if (node.host, node.port) in seen:
            twice = url.shown(str(node))[1:-1]
            raise ValueError(f"{url} names the server {twice} twice: its vote counts once, so name each server once")
        seen.add((node.host, node.port))
    if len(nodes) < FEWEST:
        raise ValueError(
            f"{url} names {len(nodes)} of the at least {FEWEST} servers that redlock needs to survive the loss of one: "
            "name more, or use redis:// for one"
        )
    return Roster(nodes, min(patience, _timeout(url, patience / SHARE)), url.options.get("prefix", ""))


def _timeout(url: Url, default: float) -> float:
    text = url.options.get("node_timeout")
    if text is None:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not (isfinite(seconds) and seconds > 0):
        raise ValueError(f"option 'node_timeout' in {url} is a number of seconds above 0, not {url.shown(text)}")
    return seconds
