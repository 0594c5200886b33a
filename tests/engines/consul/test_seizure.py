"""A lock that was taken from under somebody who waits is given back. A process that stops or dies before it has done so
holds nobody up for longer than its lease, and never holds the lock beside whoever is next."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from fencepost.contract.answer import Granted, Queued
from fencepost.core.claim import Ask, Claim, Request
from fencepost.testing.condition import until
from fencepost.testing.consul import Agent

from .conftest import LASTING, PATIENCE, Connect, holder_of

# Long enough for a process on a busy machine to keep its lease until it stops itself.
TTL = 2.5
# Its session is open before anything happens. It stops itself before one transaction of those that give the lock back.
SEIZER = """
import os, signal, sys
import fencepost

url, ttl, point = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
with fencepost.connect(url, ttl=ttl, holder="seizer") as session:
    session.lock("warm").acquire().release()
    print("ready", flush=True)
    sys.stdin.readline()
    engine = session.engine
    give_back, transact = engine._give_back, engine._store.transact
    count = 0

    def counted(operations):
        global count
        count += 1
        if count == point:
            print("seized", flush=True)
            os.kill(os.getpid(), signal.SIGSTOP)
        return transact(operations)

    def giving_back(*arguments):
        engine._give_back, engine._store.transact = give_back, counted
        give_back(*arguments)
        engine._store.transact = transact

    engine._give_back = giving_back
    with session.lock("a", timeout=90) as grant:
        print(grant.token, flush=True)
"""


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.slow), 2])
def point(request: pytest.FixtureRequest) -> int:
    """Of the transactions that give it back: 1 deletes the lock, and 2 makes the next one its holder."""
    found: int = request.param
    return found


@pytest.fixture
def seizer(url: str, point: int) -> Iterator["subprocess.Popen[str]"]:
    # Once it has deleted the lock, nobody waits for the end of its lease.
    ttl = TTL if point < 2 else 2 * PATIENCE
    argv = [sys.executable, "-c", SEIZER, url, str(ttl), str(point)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        process.kill()


@pytest.mark.parametrize("fate", ["stopped", "killed"])
def test_whoever_waits_gets_what_a_seizer_could_not_give_back(
    fate: str, point: int, seizer: "subprocess.Popen[str]", connect: Connect, agent: Agent
) -> None:
    assert seizer.stdin is not None
    assert seizer.stdout is not None
    (one, dying), (two, sleeping) = connect("dying"), connect("sleeping")
    assert isinstance(one.claim(Request(dying, 1, (Ask("a"),)), wait=False), Granted)
    place = two.claim(Request(sleeping, 1, (Ask("a"),)), wait=True)
    assert isinstance(place, Queued)
    one.lease_close(dying)
    # Nobody is awake to see that the lock is free.
    seizer.stdin.write("go\n")
    seizer.stdin.flush()
    assert seizer.stdout.readline() == "seized\n"
    seized = point < 2
    assert not seized or holder_of(agent, "a") == "seizer"
    if fate == "killed":
        seizer.kill()
    answer = two.wait(place, PATIENCE)
    assert isinstance(answer, Granted)
    assert holder_of(agent, "a") == "sleeping"
    claim = Claim(sleeping, 1, Ask("a"), answer.tokens[0])
    if fate == "stopped":
        seizer.send_signal(signal.SIGCONT)
        # It goes on giving back, and then waits for its turn.
        until(lambda: [each.claim.holder.label for each in two.look("a").waiters] == ["seizer"], PATIENCE)
        assert two.lease_renew(sleeping, LASTING, [claim]).gone == ()
        assert two.release(claim)
        assert int(seizer.stdout.readline()) > answer.tokens[0]
    else:
        assert two.lease_renew(sleeping, LASTING, [claim]).gone == ()
        assert two.release(claim)
