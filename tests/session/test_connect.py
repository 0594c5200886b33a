"""Bad input raises at once, says what to do, and nothing is sent."""

import dataclasses
import math

import pytest

import fencepost

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("sqlit:///tmp/x", r"unknown engine 'sqlit://': did you mean sqlite://\?"),
        ("zzz://h", r"unknown engine 'zzz://': choose from .*memory://"),
        ("localhost:6379", "is not an engine URL"),
        ("memory://x?tll=3", "unknown option 'tll'"),
    ],
)
def test_a_bad_url_raises(url: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        fencepost.connect(url)
    with pytest.raises(ValueError, match=says):
        fencepost.connect_async(url)


@pytest.mark.parametrize("ttl", [0, -1, math.nan, math.inf])
def test_a_bad_ttl_raises(ttl: float) -> None:
    with pytest.raises(ValueError, match="ttl"):
        fencepost.connect("memory://", ttl=ttl)


def test_a_ttl_below_the_engines_floor_raises_and_names_the_floor() -> None:
    with pytest.raises(ValueError, match=r"shorter than sqlite:// can keep: use 0\.\d+ s or more"):
        fencepost.connect("sqlite://", ttl=0.04)


def test_a_margin_that_leaves_no_lease_raises() -> None:
    with pytest.raises(ValueError, match="leaves no lease"):
        fencepost.connect("memory://", ttl=1, margin=2)


def test_what_is_required_and_not_given_raises_at_connect() -> None:
    with pytest.raises(fencepost.Unsupported, match=r"memory:// does not give .* survives 'minority' is required"):
        fencepost.connect("memory://", requires={"fencing": "strict", "survives": "minority"})
    fencepost.connect("memory://", requires={"fencing": "strict"}).close()


def test_an_unknown_requirement_raises() -> None:
    with pytest.raises(ValueError, match="unknown trait 'fancing' in requires: choose from"):
        fencepost.connect("memory://", requires={"fancing": "strict"})


@pytest.mark.parametrize("name", ["", "x" * 1025, "a\0b"])
def test_a_bad_name_raises_when_the_lock_is_made(name: str) -> None:
    session = fencepost.connect("memory://")
    for make in (session.lock, session.rwlock, session.look, session.evict):
        with pytest.raises(ValueError, match="a lock name"):
            make(name)
    session.close()


@pytest.mark.parametrize("timeout", [-1, math.nan, math.inf])
def test_a_bad_timeout_raises(timeout: float) -> None:
    session = fencepost.connect("memory://")
    with pytest.raises(ValueError, match="timeout"):
        session.lock("a", timeout=timeout)
    with pytest.raises(ValueError, match="timeout"):
        session.lock("a").acquire(timeout=timeout)
    session.close()


def test_the_url_comes_from_the_environment_if_none_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_URL", "memory://from-the-environment")
    with fencepost.connect() as session:
        assert session.traits.scope == "process"


def test_without_any_url_the_engine_is_the_embedded_one(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.delenv("FENCEPOST_URL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with fencepost.connect() as session, session.lock("a") as grant:
        assert session.traits.scope == "host"
        assert grant.held


def test_a_holder_is_called_by_the_name_it_gave_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect("memory://", holder="web-3") as session, session.lock("a") as grant:
        assert str(grant.holder) == "web-3"
    monkeypatch.setenv("FENCEPOST_HOLDER", "web-4")
    with fencepost.connect("memory://") as session, session.lock("a") as grant:
        assert str(grant.holder) == "web-4"


def test_an_engine_without_shared_locks_says_so_when_the_lock_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    session = fencepost.connect("memory://")
    monkeypatch.setattr(session.engine, "traits", dataclasses.replace(session.traits, shared=False), raising=False)
    with pytest.raises(fencepost.Unsupported, match="no shared locks"):
        session.rwlock("a")
    session.close()


def test_requiring_remaining_time_rejects_nonsense() -> None:
    with fencepost.connect("memory://") as session, session.lock("a") as grant:
        for seconds in (-1, math.nan):
            with pytest.raises(ValueError, match="seconds"):
                grant.require(seconds)


def test_an_engine_that_can_not_downgrade_says_so_and_the_lock_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with fencepost.connect("memory://", ttl=60) as session, session.rwlock("a").write() as grant:
        lesser = dataclasses.replace(session.traits, downgrade=False)
        monkeypatch.setattr(session.engine, "traits", lesser, raising=False)
        with pytest.raises(fencepost.Unsupported, match="trait 'downgrade'"):
            session.rwlock("a").downgrade(grant)
        assert grant.held


@pytest.mark.parametrize(
    "url", ["redis+sentinel://a:1/service", "redis+cluster://a:1,b:2", "redlock://a:1,b:2,c:3", "zookeeper://a:1"]
)
@pytest.mark.parametrize("option", ["tls=true", "tls=1", "tls=YES", "tls=", "ca=ca.crt"])
def test_what_might_mean_encryption_and_does_not_is_refused(url: str, option: str) -> None:
    with pytest.raises(ValueError, match=r"option 'tls' in .* is yes or no|is for TLS: add tls=yes"):
        fencepost.connect(f"{url}?{option}")


def test_a_note_or_a_label_that_is_too_long_raises() -> None:
    with pytest.raises(ValueError, match="the label of a holder has at most 1024 characters"):
        fencepost.connect("memory://", holder="x" * 1025)
    with fencepost.connect("memory://") as session:
        for make in (session.lock, session.rwlock, lambda name, note: session.semaphore(name, limit=1, note=note)):
            with pytest.raises(ValueError, match="a note has at most 1024 characters"):
                make("a", note="x" * 1025)
        with pytest.raises(ValueError, match="a note has at most 1024 characters"):
            session.lock_all(["a"], note="x" * 1025)
