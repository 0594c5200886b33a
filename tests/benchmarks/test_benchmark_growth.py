"""How costs grow: what is measured is what is said."""

import json
import socket
from pathlib import Path

import pytest

from benchmarks.growth.crowd import Shift, Turn
from benchmarks.growth.place import schemes
from benchmarks.growth.traffic import Traffic, traffic
from benchmarks.growth.waiters import _found
from fencepost.contract import registry
from tests.support.benchmarks.run import bench


@pytest.mark.unit
def test_every_engine_is_measured_once() -> None:
    modules = [registry.BUILT_IN[scheme].module for scheme in schemes()]
    assert sorted(modules) == sorted({entry.module for entry in registry.BUILT_IN.values()})


def test_packets_are_counted_by_direction_and_connections_of_others_are_not() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        peer, _ = server.accept()
        with peer:
            before = traffic()
            for _ in range(3):
                client.sendall(b"question")
                assert peer.recv(100) == b"question"
            # Both ends are ours here.
            assert traffic().since(before) == Traffic(received=3, sent=3)


@pytest.mark.unit
def test_a_hand_over_is_from_a_release_to_the_next_turn_by_token_in_whatever_process() -> None:
    one = Shift([Turn(1, 0, 1_000_000), Turn(3, 1_900_000, 2_000_000)], 2, Traffic(4, 2), 0.002)
    other = Shift([Turn(2, 1_300_000, 1_500_000)], 1, Traffic(2, 1), 0.001)
    found = _found([one, other], [5_000], 0.001)
    # 300 and 400 µs.
    assert found.hand_over == 300.0
    assert (found.woken, found.sent, found.received) == (1.0, 1.0, 2.0)
    assert (round(found.cpu), found.elsewhere, found.join) == (1000, 5.0, 1000.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_quick_run_shows_every_engine_and_loses_nothing(tmp_path: Path) -> None:
    run = bench("growth", "--quick", "--seed", "1", "--json", str(tmp_path / "figures.json"))
    assert run.returncode == 0, run.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    for letter in "ab":
        assert set(figures[letter]["figures"]) == set(schemes())
        assert figures[letter]["targets"]
    assert all(each["100"]["lost"] == 0 for each in figures["b"]["figures"].values())
