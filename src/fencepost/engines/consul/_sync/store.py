# Generated from src/fencepost/engines/consul/_async/store.py by tools/unasync.py. Do not edit: run `make gen`.
"""The agent's five questions: transactions, reads that wait for news, and sessions."""

import json
from collections.abc import Collection, Sequence
from typing import Any
from urllib.parse import quote

from fencepost.drivers.consul.http import Response
from fencepost.engines.consul.address import Address
from fencepost.engines.consul.session import first_node, session_id, session_list
from fencepost.engines.consul.timekeeper import Timekeeper
from fencepost.engines.consul.transaction import (
    MOST_OPERATIONS,
    Conflict,
    Operation,
    Pair,
    conflict_of,
    listed,
    pairs_of,
)
from fencepost.engines.consul.trouble import explain
from fencepost.engines.consul.wire import threads as wire
from fencepost.errors import Refused, Unavailable

# An agent answers up to a sixteenth later than asked.
LONGEST_WATCH = 60
# How often it is read what no transaction reads at once, until nothing has changed meanwhile.
MOST_ROUNDS = 20
NO_NODE = b"Missing node registration"


class Store:
    def __init__(self, address: Address, patience: float) -> None:
        self._link = wire.Link(address.hosts, patience)
        self._query = address.query
        self._host = f"Host: {address.hosts[0]}\r\n".encode() + address.headers
        self._txn_head = self._head("PUT", "/v1/txn")
        self._timekeeper = Timekeeper()
        self.now = self._timekeeper.now

    def transact(self, operations: Sequence[Operation]) -> dict[str, Pair] | Conflict:
        """All of it or nothing; what it read, by key."""
        if len(operations) > MOST_OPERATIONS:
            raise Refused(
                f"{len(operations)} operations are more than the {MOST_OPERATIONS} of one transaction in consul"
            )
        response = self.send(json.dumps(operations, separators=(",", ":")).encode())
        return self.outcome(operations, response)

    def read(self, operations: Sequence[Operation]) -> dict[str, Pair]:
        """A transaction of reads only. What is more than it takes is read in parts, over and over: what was found
        twice in a row was there as a whole in between."""
        parts = [operations[at : at + MOST_OPERATIONS] for at in range(0, len(operations), MOST_OPERATIONS)]
        before: dict[str, Pair] | None = None
        for _ in range(MOST_ROUNDS):
            found: dict[str, Pair] = {}
            for part in parts:
                read = self.transact(part)
                if isinstance(read, Conflict):
                    raise Unavailable(f"consul did not read: {'; '.join(read.reasons.values())}")
                found |= read
            if len(parts) < 2 or found == before:
                return found
            before = found
        raise Unavailable(f"consul changed while {len(operations)} names were read, {MOST_ROUNDS} times in a row")

    def outcome(self, operations: Sequence[Operation], response: Response) -> dict[str, Pair] | Conflict:
        if response.status == 200:
            return pairs_of(operations, response.body)
        if response.status == 409:
            conflict = conflict_of(response.body)
            if not conflict.says("Permission denied"):
                return conflict
        raise explain(response, self._link.host)

    def send(self, operations: bytes) -> Response:
        """A transaction that is written out already, and the answer as it comes."""
        response = self._link.call(b"%b%d\r\n\r\n%b" % (self._txn_head, len(operations), operations))
        self._timekeeper.hear(response.date)
        return response

    def watch(
        self, pair: Pair, until: float, watch: wire.Watch, left: float, *, among: Collection[Pair] = ()
    ) -> dict[str, Pair] | None:
        """What stands there once it has changed since `pair` was read; None when the time is over.

        With `among`, once anything below has changed, or at once if one of these is another by now.
        """
        index = pair.modified
        if among:
            # Of all below, the index is not that of any key: it counts also what was deleted.
            answer = self._call("GET", f"/v1/kv/{quote(pair.key)}?recurse")
            found = self._listed(answer)
            if any(each.key not in found or found[each.key].modified != each.modified for each in among):
                return found
            index = max(index, answer.as_of)
        path = f"/v1/kv/{quote(pair.key)}?index={index}&wait={max(1, int(min(left, LONGEST_WATCH) * 1000))}ms"
        request = self._head("GET", path + "&recurse" * bool(among)) + b"0\r\n\r\n"
        response = self._link.watch(request, until, watch)
        if response is None:
            return None
        self._timekeeper.hear(response.date)
        return self._listed(response)

    def list(self, prefix: str) -> dict[str, Pair]:
        """Everything whose key begins so. A transaction would not read all there is."""
        return self._listed(self._call("GET", f"/v1/kv/{quote(prefix)}?recurse"))

    def _listed(self, response: Response) -> dict[str, Pair]:
        if response.status not in (200, 404):
            raise explain(response, self._link.host)
        return listed(response.body) if response.status == 200 else {}

    def session_create(self, settings: dict[str, Any]) -> str:
        response = self._call("PUT", "/v1/session/create", settings)
        if NO_NODE in response.body and "Node" not in settings:
            # It belongs to a node, by default to the agent's own: another datacenter knows only others.
            node = first_node(self._ask("GET", "/v1/catalog/nodes"))
            return self.session_create(settings | {"Node": node})
        if response.status != 200:
            raise explain(response, self._link.host)
        return session_id(response.body)

    def session_renew(self, session: str) -> bool:
        """Whether it is still there."""
        response = self._call("PUT", f"/v1/session/renew/{session}")
        if response.status not in (200, 404):
            raise explain(response, self._link.host)
        return response.status == 200

    def session_destroy(self, session: str) -> None:
        self._ask("PUT", f"/v1/session/destroy/{session}")

    def sessions(self) -> Sequence[tuple[str, str]]:
        """The id and the name of each."""
        return session_list(self._ask("GET", "/v1/session/list"))

    def close(self) -> None:
        self._link.close()

    def _ask(self, method: str, path: str, body: Any = None) -> bytes:
        response = self._call(method, path, body)
        if response.status != 200:
            raise explain(response, self._link.host)
        return response.body

    def _call(self, method: str, path: str, body: Any = None) -> Response:
        text = b"" if body is None else json.dumps(body).encode()
        response = self._link.call(b"%b%d\r\n\r\n%b" % (self._head(method, path), len(text), text))
        self._timekeeper.hear(response.date)
        return response

    def _head(self, method: str, path: str) -> bytes:
        if self._query:
            path += ("&" if "?" in path else "?") + self._query
        return f"{method} {path} HTTP/1.1\r\n".encode() + self._host + b"Content-Length: "
