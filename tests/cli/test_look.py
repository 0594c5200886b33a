"""`fencepost ls`, `show`, `watch` and `evict`: what operators see and do."""

import fcntl
import getpass
import json
import re
import signal
import socket
import threading
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import fencepost
from tests.support.cli.program import Program, complains, ends, eventually, says
from tests.support.engine import cells_of


def wait_for(session: fencepost.Session, name: str) -> threading.Thread:
    """Somebody in the queue."""
    thread = threading.Thread(target=lambda: session.lock(name, note="wants it").acquire().release())
    thread.start()
    eventually(lambda: session.look(name).waiters)
    return thread


def test_ls_shows_who_holds_what(program: Program, session: fencepost.Session) -> None:
    with session.lock("orders/42", note="night run") as grant, session.lock("users/7"):
        thread = wait_for(session, "orders/42")
        done = program("ls")
        some = program("ls", "orders")
        grant.release()
        thread.join()
    header, first, second = done.stdout.splitlines()
    assert header.split() == ["NAME", "HOLDER", "TOKEN", "SINCE", "REMAINING", "WAITERS", "NOTE"]
    assert first.startswith(f"orders/42  the test  {grant.token}  ")
    assert first.endswith("        1  night run")
    assert second.startswith("users/7    the test  ")
    assert "users/7" not in some.stdout
    assert "orders/42" in some.stdout


def test_ls_says_when_nothing_is_held(program: Program) -> None:
    done, prefixed = program("ls"), program("ls", "orders")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "fencepost: nothing is held\n")
    assert prefixed.stderr == "fencepost: nothing that begins with 'orders' is held\n"
    assert program("ls", "--json").stdout == "[]\n"
    assert program("-q", "ls").stderr == program("ls", "-q").stderr == ""


def test_ls_in_json_has_the_documented_keys(program: Program, session: fencepost.Session) -> None:
    with session.lock("a", note="night run") as grant:
        thread = wait_for(session, "a")
        (seen,) = json.loads(program("ls", "--json").stdout)
        grant.release()
        thread.join()
    assert set(seen) == {"name", "holders", "waiters", "evictions"}
    (holder,), (waiter,) = seen["holders"], seen["waiters"]
    times = {"since", "remaining"}
    assert {key: value for key, value in holder.items() if key not in times} == {
        "holder": "the test", "token": grant.token, "mode": "exclusive", "weight": 1, "note": "night run"
    }  # fmt: skip
    assert {key: value for key, value in waiter.items() if key not in times} == {
        "holder": "the test", "mode": "exclusive", "weight": 1, "note": "wants it", "priority": 0
    }  # fmt: skip
    assert 0 <= holder["since"] < 30 < holder["remaining"] <= 60


def test_nothing_in_a_name_is_obeyed_by_the_terminal(program: Program, session: fencepost.Session) -> None:
    with session.lock("a\x1b[31m\nb", note="[bold]:smile:\x9b"):
        done = program("ls")
    assert "a\\e[31m\\nb" in done.stdout
    assert "[bold]:smile:\\u009b" in done.stdout
    assert "\x1b" not in done.stdout


def test_show_tells_all_about_a_name(program: Program, session: fencepost.Session) -> None:
    evicted = session.lock("a").acquire()
    session.evict("a")
    with session.rwlock("a").read() as first, session.rwlock("a").read() as second:
        thread = wait_for(session, "a")
        done = program("show", "a")
        seen = json.loads(program("show", "a", "--json").stdout)
        first.release()
        second.release()
        thread.join()
    for text in ("'a' is held\n", "waiting, in order\n", "evicted\n", str(first.token), str(second.token)):
        assert text in done.stdout
    assert [holder["mode"] for holder in seen["holders"]] == ["shared", "shared"]
    assert [waiter["note"] for waiter in seen["waiters"]] == ["wants it"]
    (eviction,) = seen["evictions"]
    assert 0 <= eviction.pop("ago") < 30
    assert eviction == {"token": evicted.token, "evicted": "the test", "by": "the test"}


def stand_there(session: fencepost.Session, name: str, count: int) -> bool:
    return len(session.look(name).waiters) == count


def test_show_lists_waiters_in_the_order_in_which_they_will_be_served(
    program: Program, session: fencepost.Session
) -> None:
    held = session.lock("a").acquire()
    waiting = []
    for number, priority in enumerate(("0", "-3", "7"), 1):
        waiting.append(program.start("run", "a", "--holder", f"of {priority}", "--priority", priority, "--", "true"))
        eventually(partial(stand_there, session, "a", number))
    seen, shown = json.loads(program("show", "a", "--json").stdout), program("show", "a").stdout
    held.release()
    assert [each.wait(20) for each in waiting] == [0, 0, 0]
    assert [(each["holder"], each["priority"]) for each in seen["waiters"]] == [("of 7", 7), ("of 0", 0), ("of -3", -3)]
    assert [line.split()[:4] for line in shown.splitlines()[-3:]] == [
        ["1", "of", "7", "7"],
        ["2", "of", "0", "0"],
        ["3", "of", "-3", "-3"],
    ]


def test_show_deadlocks_knows_who_goes_before_whom(program: Program, session: fencepost.Session) -> None:
    """One who holds 'b' waits for 'a' behind a higher one that came later, and that one waits for 'b'."""
    with (
        fencepost.connect(program.url, holder="low") as low,
        fencepost.connect(program.url, holder="high") as high,
        session.lock("a") as held,
        low.lock("b") as low_holds,
    ):
        works = [
            (lambda: low.lock("a").acquire().release(), "a", 1),
            (lambda: high.lock("a", priority=1).acquire().release(), "a", 2),
            (lambda: high.lock("b").acquire().release(), "b", 1),
        ]
        threads = []
        for work, name, count in works:
            threads.append(threading.Thread(target=work))
            threads[-1].start()
            eventually(partial(stand_there, session, name, count))
        seen = program("show", "--deadlocks").stdout.splitlines()
        held.release()
        low_holds.release()
        for thread in threads:
            thread.join()
    assert sorted(seen[1:]) == [
        f"  high waits for 'b': low holds it (token {low_holds.token})",
        "  low waits for 'a': high goes before it",
    ]


def test_show_says_when_a_name_is_free(program: Program) -> None:
    assert program("show", "a").stdout == "'a' is free\n"


def test_evict_takes_the_lock_and_leaves_a_record_of_who_did(program: Program, session: fencepost.Session) -> None:
    grant = session.lock("a").acquire()
    done = program("evict", "a", "--yes")
    assert (done.returncode, done.stdout) == (0, f"took 'a' (token {grant.token}) from the test\n")
    (record,) = session.look("a").evictions
    assert (record.token, record.by) == (grant.token, f"{getpass.getuser()}@{socket.gethostname()}")


def test_evict_in_json(program: Program, session: fencepost.Session) -> None:
    grant = session.lock("a", note="x").acquire()
    done: dict[str, Any] = json.loads(program("evict", "a", "--yes", "--json").stdout)
    assert done["taken"] == [{"holder": "the test", "token": grant.token, "mode": "exclusive", "note": "x"}]
    assert (done["name"], done["by"]) == ("a", f"{getpass.getuser()}@{socket.gethostname()}")


def test_evict_of_what_nobody_holds_is_1(program: Program) -> None:
    done = program("evict", "a", "--yes")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "fencepost: nobody holds 'a'\n")


def test_evict_without_a_terminal_needs_yes(program: Program, session: fencepost.Session) -> None:
    with session.lock("a"):
        done = program("evict", "a")
        assert session.look("a").holders
    assert done.returncode == 64
    assert "use --yes" in done.stderr


def test_watch_prints_a_line_for_every_change(program: Program, session: fencepost.Session) -> None:
    grant = session.lock("a").acquire()
    watching = program.start("watch", "--interval", "0.01")
    assert says(watching).endswith(f" 'a' held by the test (token {grant.token})")
    thread = wait_for(session, "a")
    assert says(watching).endswith(f" 'a' held by the test (token {grant.token}), 1 waiting")
    session.evict("a")
    thread.join()
    eventually(lambda: not session.look("a").holders)
    while not (line := says(watching)).endswith(" 'a' free"):
        assert "held by the test" in line
    watching.send_signal(signal.SIGINT)
    assert ends(watching) == 130


def test_watch_in_json_prints_an_object_for_every_change(program: Program, session: fencepost.Session) -> None:
    watching = program.start("watch", "a", "--json", "--interval", "0.01")
    with session.lock("a") as grant, session.lock("b"):
        seen = json.loads(says(watching))
        assert set(seen) == {"at", "name", "holders", "waiters", "evictions"}
        assert [holder["token"] for holder in seen["holders"]] == [grant.token]
    seen = json.loads(says(watching))
    assert (seen["name"], seen["holders"], seen["waiters"]) == ("a", [], [])


def test_watch_ends_after_as_many_looks_as_asked_for(program: Program, session: fencepost.Session) -> None:
    with session.lock("a"):
        for args in (("--once",), ("--count", "3", "--interval", "0.01")):
            done = program("watch", *args)
            assert (done.returncode, done.stdout.count("\n")) == (0, 1)


def test_watch_outlives_an_engine_that_is_away_for_a_while(
    program: Program, session: fencepost.Session, gate: Path
) -> None:
    with session.lock("a"):
        watching = program.start("watch", "--interval", "0.01")
        assert "'a' held" in says(watching)
        with gate.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            assert complains(watching).startswith("fencepost: no news: ")
    assert says(watching).endswith("'a' free")


def test_an_engine_that_does_not_answer_is_69_in_json_as_well(
    program: Program, session: fencepost.Session, gate: Path
) -> None:
    with session.lock("a"):
        pass
    with gate.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        plain, encoded = program("ls"), program("ls", "--json")
    assert (plain.returncode, plain.stdout, plain.stderr.count("\n")) == (69, "", 1)
    assert json.loads(encoded.stderr)["exit"] == encoded.returncode == 69
    assert "is busy" in json.loads(encoded.stderr)["error"]


def test_bad_names_and_engines_are_64_everywhere(program: Program) -> None:
    for args in (("show", ""), ("evict", "", "--yes"), ("ls", "--url", "x"), ("watch", "--once", "--url", "nope://")):
        done = program(*args)
        assert (done.returncode, done.stderr.count("\n")) == (64, 1), args


def test_show_deadlocks_names_those_who_wait_for_each_other(program: Program, session: fencepost.Session) -> None:
    with (
        fencepost.connect(program.url, holder="other") as other,
        session.lock("a") as held_here,
        other.lock("b") as held_there,
    ):
        threads = [
            threading.Thread(target=lambda: session.lock("b").acquire().release()),
            threading.Thread(target=lambda: other.lock("a").acquire().release()),
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: session.look("a").waiters and session.look("b").waiters)
        seen, machine = program("show", "--deadlocks"), json.loads(program("show", "--deadlocks", "--json").stdout)
        held_here.release()
        held_there.release()
        for thread in threads:
            thread.join()
    title, *lines = seen.stdout.splitlines()
    assert title == "deadlock 1"
    assert sorted(lines) == [
        f"  other waits for 'a': the test holds it (token {held_here.token})",
        f"  the test waits for 'b': other holds it (token {held_there.token})",
    ]
    assert seen.stderr == "fencepost: to let one of them go on: fencepost evict NAME\n"
    (circle,) = machine
    assert {(each["waiter"], each["name"], each["blocker"]) for each in circle} == {
        ("other", "a", "the test"),
        ("the test", "b", "other"),
    }


def test_show_deadlocks_says_when_there_is_none(program: Program, session: fencepost.Session) -> None:
    with session.lock("a"):
        done = program("show", "--deadlocks")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "fencepost: no deadlock: nobody waits in a circle\n")
    assert program("show", "--deadlocks", "--json").stdout == "[]\n"


def test_show_wants_a_name_or_deadlocks(program: Program) -> None:
    for arguments in (("show",), ("show", "a", "--deadlocks")):
        done = program(*arguments)
        assert done.returncode == 64
        assert "give a NAME, or --deadlocks for all names" in done.stderr


def test_names_and_labels_reach_no_terminal_raw(program: Program, session: fencepost.Session) -> None:
    hostile = "\x1b]0;title\x07\x1b[2J\u202e\r\nfake"
    with (
        fencepost.connect(program.url, holder=f"other{hostile}") as other,
        session.lock(f"a{hostile}") as held_here,
        other.lock(f"b{hostile}") as held_there,
    ):
        threads = [
            threading.Thread(target=lambda: session.lock(f"b{hostile}").acquire().release()),
            threading.Thread(target=lambda: other.lock(f"a{hostile}").acquire().release()),
        ]
        for thread in threads:
            thread.start()
        eventually(lambda: session.look(f"a{hostile}").waiters and session.look(f"b{hostile}").waiters)
        shown = [program("show", "--deadlocks"), program("ls"), program("show", f"a{hostile}")]
        refused = program("run", f"b{hostile}", "--timeout", "0", "--", "true")
        held_here.release()
        held_there.release()
        for thread in threads:
            thread.join()
    for done in [*shown, refused]:
        assert all(line.isprintable() for line in (done.stdout + done.stderr).split("\n")), done
        assert "fake" in done.stdout + done.stderr


def test_show_tells_how_the_last_run_ended(program: Program, session: fencepost.Session) -> None:
    assert json.loads(program("show", "report", "--json").stdout)["last_run"] is None
    job = session.job("report")
    run = job.begin(1794700800)
    assert run is not None
    with run:
        running = program("show", "report").stdout
        token = session.look("report").holders[0].claim.token
    assert table(running, "last run") == ["2026-11-15 00:00:00 UTC", "the test", str(token), "running", "-"]
    assert table(program("show", "report").stdout, "last run")[3] == "done"
    run = job.begin(1794700801)
    assert run is not None
    run.end(error="exit code 3")
    run.grant.release()
    failed = json.loads(program("show", "report", "--json").stdout)["last_run"]
    assert (failed["tick"], failed["state"], failed["error"]) == (1794700801, "failed", "exit code 3")
    assert table(program("show", "report").stdout, "last run")[-1] == "exit code 3"
    run = job.begin("v42")
    assert run is not None
    run.grant.release()
    assert table(program("show", "report").stdout, "last run")[:4] == ["v42", "the test", ANY, "left unfinished"]


def table(text: str, title: str) -> list[str]:
    """The cells of the first row under that title."""
    row = text.split(f"{title}\n")[1].splitlines()[1]
    return re.split(r"  +", row)


def test_a_last_run_that_others_have_written_is_told_and_hides_nothing(
    program: Program, session: fencepost.Session
) -> None:
    cells_of(session).write("job/a", "no document", 0)
    with session.lock("a"):
        done = program("show", "a")
    assert (done.returncode, "'a' is held" in done.stdout) == (0, True)
    assert "the last run of 'a' can not be looked at" in done.stderr
