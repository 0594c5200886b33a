"""Each order is charged exactly once, whatever happens to the workers."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import fencepost
from examples.payment import bank
from examples.payment.shop import open_shop, pay, place_order
from fencepost.errors import FencepostError
from fencepost.testing.condition import until
from fencepost.testing.port import free_port
from fencepost.testing.server import ServerProcess, listening

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bank_url(tmp_path: Path) -> Iterator[str]:
    port = free_port()
    argv = [sys.executable, "-m", "examples.payment.bank", str(port), str(tmp_path / "bank.db")]
    with ServerProcess(argv, ready=listening(port), env={"PYTHONPATH": str(ROOT)}):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(open_shop(tmp_path)) as database:
        yield database


@pytest.fixture
def session(tmp_path: Path) -> Iterator[fencepost.Session]:
    with fencepost.connect(f"sqlite://{tmp_path}/locks.db", ttl=60) as session:
        yield session


def charges(folder: Path) -> list[tuple[str, int]]:
    """What the bank has charged: the key, and how often it was asked."""
    with closing(sqlite3.connect(folder / "bank.db")) as ledger:
        return ledger.execute("SELECT key, times FROM charge ORDER BY id").fetchall()


def test_a_retry_gives_the_same_receipt_and_does_not_ask_the_bank(
    tmp_path: Path, bank_url: str, database: sqlite3.Connection, session: fencepost.Session
) -> None:
    place_order(database, 42, 500)
    assert pay(session, database, bank_url, 42) == pay(session, database, bank_url, 42) == "receipt 1"
    assert charges(tmp_path) == [("payment/42", 1)]


def test_two_at_once_get_the_same_receipt(
    tmp_path: Path, bank_url: str, database: sqlite3.Connection, session: fencepost.Session
) -> None:
    place_order(database, 42, 500)
    receipts: list[str] = []

    def work() -> None:
        with closing(open_shop(tmp_path)) as mine:
            receipts.append(pay(session, mine, bank_url, 42))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert receipts == ["receipt 1", "receipt 1"]
    assert charges(tmp_path) == [("payment/42", 1)]


def test_who_dies_after_the_bank_has_charged_is_followed_by_one_that_charges_nothing(
    tmp_path: Path,
    bank_url: str,
    database: sqlite3.Connection,
    session: fencepost.Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place_order(database, 42, 500)
    ask = bank.charge

    def ask_and_die(*args: object) -> str:
        ask(*args)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(bank, "charge", ask_and_die)
    with pytest.raises(KeyboardInterrupt):
        pay(session, database, bank_url, 42)
    monkeypatch.undo()
    assert pay(session, database, bank_url, 42) == "receipt 1"
    assert charges(tmp_path) == [("payment/42", 2)]


def test_a_bank_that_is_down_leaves_the_order_to_be_paid_later(
    tmp_path: Path, bank_url: str, database: sqlite3.Connection, session: fencepost.Session
) -> None:
    place_order(database, 42, 500)
    with pytest.raises(OSError, match="refused"):
        pay(session, database, f"http://127.0.0.1:{free_port()}", 42)
    assert pay(session, database, bank_url, 42) == "receipt 1"


@pytest.mark.slow
@pytest.mark.storm
@pytest.mark.timeout(600)
def test_every_order_is_charged_once_while_two_workers_are_killed_and_stopped_at_random(
    tmp_path: Path, bank_url: str, database: sqlite3.Connection, dice: random.Random
) -> None:
    orders = range(1, 31)
    for order in orders:
        place_order(database, order, 100 * order)

    def start() -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "examples.payment.shop", str(tmp_path), bank_url]
        return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)

    def paid() -> int:
        ((count,),) = database.execute("SELECT count(receipt) FROM orders").fetchall()
        return int(count)

    workers = [start(), start()]
    try:
        while (before := paid()) < len(orders):
            # Between two faults at least one order is paid, or both workers are gone.
            until(lambda: paid() > before or all(each.poll() is not None for each in workers), within=60)
            time.sleep(dice.uniform(0, 0.05))
            victim = dice.randrange(2)
            match dice.choice(["kill", "stop", "leave"]):
                case "kill":
                    workers[victim].kill()
                case "stop" if workers[victim].poll() is None:
                    # Sometimes past its lease. It may be inside a transaction, which nobody gets past meanwhile.
                    workers[victim].send_signal(signal.SIGSTOP)
                    time.sleep(dice.choice([0.1, 2.5]))
                    workers[victim].send_signal(signal.SIGCONT)
            workers[:] = [start() if each.poll() is not None else each for each in workers]
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    ledger = charges(tmp_path)
    assert sorted(key for key, _ in ledger) == sorted(f"payment/{order}" for order in orders)
    receipts = [receipt for (receipt,) in database.execute("SELECT receipt FROM orders ORDER BY id")]
    keys = {f"receipt {number}": key for number, (key, _) in enumerate(ledger, start=1)}
    assert [keys[receipt] for receipt in receipts] == [f"payment/{order}" for order in orders]


def test_a_worker_that_was_overtaken_can_not_commit_another_receipt(
    tmp_path: Path,
    bank_url: str,
    database: sqlite3.Connection,
    session: fencepost.Session,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place_order(database, 42, 500)
    ask = bank.charge

    def be_overtaken(url: str, key: str, order: int, cents: int) -> str:
        monkeypatch.undo()
        session.evict(f"once/{key}")
        with closing(open_shop(tmp_path)) as other, fencepost.connect(f"sqlite://{tmp_path}/locks.db") as newer:
            assert pay(newer, other, bank_url, order) == "receipt 1"
        return ask(url, f"{key}-again", order, cents)

    monkeypatch.setattr(bank, "charge", be_overtaken)
    with pytest.raises(FencepostError):
        pay(session, database, bank_url, 42)
    assert database.execute("SELECT receipt FROM orders").fetchall() == [("receipt 1",)]
