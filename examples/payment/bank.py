"""The bank: a service of somebody else's. Like real ones, it charges once for each `Idempotency-Key` it is shown.

python -m examples.payment.bank PORT LEDGER
"""

import json
import sqlite3
import sys
import urllib.request
from collections.abc import Iterable
from contextlib import closing
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server


def charge(url: str, key: str, order: int, cents: int) -> str:
    """Ask the bank; the receipt."""
    body = json.dumps({"order": order, "cents": cents}).encode()
    request = urllib.request.Request(url, body, {"Idempotency-Key": key}, method="POST")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.load(answer)["receipt"])


def service(ledger: str) -> Any:
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS charge (id INTEGER PRIMARY KEY, key TEXT UNIQUE, ask TEXT, times INT DEFAULT 1)"
        )

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        ask = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        with closing(sqlite3.connect(ledger)) as connection, connection:
            ((number,),) = connection.execute(
                "INSERT INTO charge (key, ask) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET times = times + 1 "
                "RETURNING id",
                (environ["HTTP_IDEMPOTENCY_KEY"], ask),
            ).fetchall()
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps({"receipt": f"receipt {number}"}).encode()]

    return app


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    make_server("127.0.0.1", int(sys.argv[1]), service(sys.argv[2]), handler_class=Quiet).serve_forever()
