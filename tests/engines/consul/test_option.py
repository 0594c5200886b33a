"""What a URL can say: tokens, prefixes, sessions of another kind; and what it can not."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fencepost
from fencepost import EngineError, Refused, Unavailable
from fencepost.core.url import parse_url
from fencepost.engines.consul.address import locate
from fencepost.testing.certificate import make_certificate
from fencepost.testing.condition import until
from fencepost.testing.consul import Agent, settings
from fencepost.testing.contract.consul import ConsulLock
from fencepost.testing.port import free_port

from .conftest import LASTING, PATIENCE, at

MASTER = "00000000-0000-0000-0000-00000000beef"
FAR = ("here", "there")
RIGHTS = 'key_prefix "team/" { policy = "write" } session_prefix "" { policy = "write" }'


@pytest.fixture(scope="module")
def strict() -> Iterator[Agent]:
    """An agent that lets in nobody without a token."""
    acl = {"enabled": True, "default_policy": "deny", "tokens": {"initial_management": MASTER}}
    with Agent(settings(acl=acl)) as agent:
        yield agent


def test_a_token_with_the_documented_rights_is_enough_and_less_is_refused(strict: Agent) -> None:
    strict.call("PUT", "/v1/acl/policy", {"Name": "locks", "Rules": RIGHTS})
    token = strict.call("PUT", "/v1/acl/token", {"Policies": [{"Name": "locks"}]})[1]["SecretID"]
    own = f"consul://:{token}@127.0.0.1:{strict.port}?session_ttl_min=0.1&prefix="
    with fencepost.connect(own + "team/", ttl=LASTING) as session:
        grant = session.lock("a").acquire()
        assert session.look("a").holders[0].claim.token == grant.token
        session.evict("a")
        assert list(session.names()) == []
        assert session.rwlock("b").read().try_acquire() is not None
    with pytest.raises(Refused, match="for the rights a token needs"), fencepost.connect(own + "other/", ttl=LASTING):
        pass
    with pytest.raises(Refused, match="for the rights a token needs"), fencepost.connect(at(strict.port), ttl=LASTING):
        pass
    with pytest.raises(Refused, match="check the token"):
        fencepost.connect(f"consul://:{MASTER[:-1]}0@127.0.0.1:{strict.port}", ttl=LASTING).__enter__()
    assert token not in str(parse_url(own))


def test_prefixes_part_locks_and_their_evictions(agent: Agent, url: str) -> None:
    with (
        fencepost.connect(f"{url}&prefix=one/", ttl=LASTING) as one,
        fencepost.connect(f"{url}&prefix=two/", ttl=LASTING) as two,
    ):
        held = [session.lock("a").acquire(timeout=0) for session in (one, two)]
        one.evict("a")
        assert (len(one.look("a").evictions), len(two.look("a").evictions)) == (1, 0)
        assert list(one.names()) == []
        assert list(two.names()) == ["a"]
        assert held[1].held


def test_a_ttl_below_the_floor_is_refused_here_or_by_the_server(agent: Agent) -> None:
    with pytest.raises(ValueError, match="use 10 s or more"):
        fencepost.connect(f"consul://127.0.0.1:{agent.port}", ttl=9)
    with Agent(settings(session_ttl_min="3s")) as slow, pytest.raises(Refused, match="session_ttl_min"):
        fencepost.connect(at(slow.port), ttl=1).__enter__()


@pytest.mark.slow
def test_a_lock_delay_keeps_others_out_after_a_session_ended_and_not_after_a_release(agent: Agent, url: str) -> None:
    delay = 3.0
    slow = f"{url}&lock_delay={delay:g}"
    with fencepost.connect(url, ttl=LASTING) as other:
        with fencepost.connect(slow, ttl=LASTING, holder="slow") as session:
            session.lock("a").acquire().release()
            other.lock("a").acquire(timeout=0).release()
            session.lock("b").acquire()
        other.lock("b").acquire(timeout=0).release()
        with fencepost.connect(slow, ttl=LASTING, holder="slow") as session:
            session.lock("a").acquire()
            (mine,) = [each for each in agent.sessions() if each["Name"].endswith(" slow")]
            ended_at = time.monotonic()
            agent.call("PUT", f"/v1/session/destroy/{mine['ID']}")
            assert other.lock("a").try_acquire() is None
            other.lock("a").acquire(timeout=PATIENCE).release()
            assert time.monotonic() - ended_at > delay - 0.1


def test_sessions_that_release_leave_nothing_that_is_in_the_way(agent: Agent, url: str) -> None:
    kind = f"{url}&behavior=release&lock_delay=0"
    with fencepost.connect(kind, ttl=LASTING) as first, fencepost.connect(kind, ttl=LASTING, holder="dying") as dying:
        old = dying.lock("a").acquire()
        dying.rwlock("b").read().acquire()
        (mine,) = [each for each in agent.sessions() if each["Name"].endswith(" dying")]
        agent.call("PUT", f"/v1/session/destroy/{mine['ID']}")
        assert first.look("a").holders == ()
        assert first.lock("a").acquire(timeout=0).token > old.token
        first.lock("b").acquire(timeout=0).release()


@pytest.mark.slow
def test_a_health_check_that_fails_ends_the_session_and_the_delay_outlasts_the_lease(agent: Agent, url: str) -> None:
    check = {"Name": "mine", "ID": "mine", "TTL": "60s", "Status": "passing"}
    agent.call("PUT", "/v1/agent/check/register", check)
    try:
        # It reaches the servers a little later than it is registered.
        until(lambda: "mine" in str(agent.call("GET", "/v1/health/node/node-0")))
        with fencepost.connect(url, ttl=LASTING) as other, fencepost.connect(f"{url}&checks=mine", ttl=1.5) as checked:
            old = checked.lock("a").acquire()
            agent.call("PUT", "/v1/agent/check/fail/mine")
            new = other.lock("a").acquire(timeout=PATIENCE)
            assert not old.held
            assert new.token > old.token
    finally:
        agent.call("PUT", "/v1/agent/check/deregister/mine")


def test_consul_lock_waits_for_us_and_we_for_it(agent: Agent, url: str) -> None:
    stranger = ConsulLock(agent, "jobs/nightly")
    with fencepost.connect(url, ttl=LASTING) as session:
        assert stranger.try_acquire()
        (standing,) = session.look("jobs/nightly").holders
        assert standing.claim.holder.label == "another client"
        taken: list[fencepost.Grant] = []
        waiter = threading.Thread(target=lambda: taken.append(session.lock("jobs/nightly").acquire(timeout=PATIENCE)))
        waiter.start()
        until(lambda: session.look("jobs/nightly").waiters)
        stranger.release()
        waiter.join(PATIENCE)
        assert taken[0].token > (standing.claim.token or 0)
        assert not stranger.try_acquire()
        taken[0].release()
        assert stranger.try_acquire()
        stranger.release()


@pytest.mark.unit
@pytest.mark.parametrize("connect", [fencepost.connect, fencepost.connect_async])
def test_a_lease_that_no_lock_delay_outlasts_is_refused_with_checks(connect: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="use a ttl of 60 s or less, or no checks"):
        connect("consul://127.0.0.1?checks=serfHealth", ttl=60.5)
    connect("consul://127.0.0.1?checks=serfHealth", ttl=60)
    connect("consul://127.0.0.1", ttl=300)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("options", "ttl", "delay", "overrun"),
    [("", 10, 10, 3.0), ("", 300, 60, 3.0), ("?lock_delay=0", 10, 0, 2.0), ("?lock_delay=20", 10, 20, 4.0)],
)
def test_a_session_is_locked_out_of_for_as_long_as_its_lease_unless_told_otherwise(
    options: str, ttl: float, delay: float, overrun: float
) -> None:
    address = locate(parse_url(f"consul://127.0.0.1{options}"))
    assert (address.delay(ttl), address.overrun) == (delay, overrun)
    assert fencepost.connect(f"consul://127.0.0.1{options}", ttl=ttl).traits.overrun == overrun


@pytest.mark.unit
@pytest.mark.parametrize(
    ("address", "complaint"),
    [
        ("consul://127.0.0.1/path", "means nothing here"),
        ("consul://127.0.0.1?behavior=keep", "'delete' or 'release'"),
        ("consul://127.0.0.1?lock_delay=90", "from 0 to 60"),
        ("consul://127.0.0.1?lock_delay=soon", "from 0 to 60"),
        ("consul://127.0.0.1?ca=x", "unknown option 'ca'"),
        ("consuls://127.0.0.1?ca=/no/such/file", "can not be read"),
        ("consul://:to%0Aken@127.0.0.1", "ACL token"),
    ],
)
def test_what_a_url_can_not_say_is_refused(address: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        locate(parse_url(address))


@pytest.mark.slow
def test_locks_are_kept_in_the_datacenter_that_the_url_names() -> None:
    here, there = (
        settings(number, datacenter=name, ports={"serf_wan": free_port()}) for number, name in enumerate(FAR)
    )
    with Agent(here) as near, Agent(there | {"retry_join_wan": [f"127.0.0.1:{here['ports']['serf_wan']}"]}) as far:
        until(lambda: near.call("GET", "/v1/catalog/nodes?dc=there")[0] == 200, PATIENCE)
        with fencepost.connect(f"{at(near.port)}&dc=there", ttl=LASTING) as session:
            grant = session.lock("a").acquire(timeout=PATIENCE)
            assert (near.keys(), far.keys() != []) == ([], True)
            with fencepost.connect(at(far.port), ttl=LASTING) as local:
                assert local.look("a").holders[0].claim.token == grant.token
                assert local.lock("a").try_acquire() is None
        with pytest.raises(Refused, match="check the option 'dc'"):
            fencepost.connect(f"{at(near.port)}&dc=nowhere", ttl=LASTING).__enter__()


def test_a_namespace_where_there_are_none_is_refused_with_the_server_s_own_reason(agent: Agent) -> None:
    with pytest.raises(Refused, match="leave the option 'ns' out"):
        fencepost.connect(f"{at(agent.port)}&ns=team", ttl=LASTING).__enter__()


def test_an_agent_that_wants_a_certificate_gets_the_one_of_the_url(tmp_path: Path) -> None:
    certificate, key = tmp_path / "agent.crt", tmp_path / "agent.key"
    make_certificate(certificate, key)
    https = {"cert_file": str(certificate), "key_file": str(key), "ca_file": str(certificate), "verify_incoming": True}
    with Agent(settings(tls={"https": https}, ports={"http": -1, "https": free_port()})) as shy:
        known = f"consuls://127.0.0.1:{shy.port}?session_ttl_min=0.1&ca={certificate}"
        with fencepost.connect(f"{known}&cert={certificate}&key={key}", ttl=LASTING) as session:
            session.lock("a").acquire(timeout=0).release()
        with pytest.raises(EngineError, match=f"127.0.0.1:{shy.port}"):
            fencepost.connect(known, ttl=LASTING).__enter__()
        with pytest.raises(Refused, match="check the certificates"):
            fencepost.connect(known.replace(f"&ca={certificate}", ""), ttl=LASTING).__enter__()


def test_an_agent_that_is_not_there_is_unavailable_and_the_next_one_is_asked(agent: Agent) -> None:
    nowhere = free_port()
    with pytest.raises(Unavailable, match="can not be reached"):
        fencepost.connect(at(nowhere), ttl=LASTING).__enter__()
    with fencepost.connect(at(f"{nowhere},127.0.0.1:{agent.port}"), ttl=LASTING) as session:
        session.lock("a").acquire(timeout=0).release()
