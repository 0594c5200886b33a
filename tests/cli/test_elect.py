"""`fencepost elect`: lead, and see who leads."""

import json
import signal

import fencepost
from tests.support.cli.program import Program, complains, ends, eventually, says


def test_the_command_runs_while_leading_and_others_see_who_leads(program: Program, session: fencepost.Session) -> None:
    nobody = program("elect", "scheduler")
    assert (nobody.returncode, nobody.stdout, nobody.stderr) == (1, "", "fencepost: nobody leads 'scheduler'\n")
    command = ("--", "sh", "-c", "echo $FENCEPOST_TOKEN; read line")
    leading = program.start("elect", "scheduler", "--value", "10.0.0.7:80", "--holder", "web-1", *command)
    term = says(leading)
    seen, machine = program("elect", "scheduler"), program("elect", "scheduler", "--json")
    assert (seen.returncode, seen.stdout) == (0, f"{term} web-1 10.0.0.7:80\n")
    assert json.loads(machine.stdout) == {"term": int(term), "value": "10.0.0.7:80", "holder": "web-1", "missed": 0}
    next_one = program.start("elect", "scheduler", "--holder", "web-2", *command)
    eventually(lambda: session.look("scheduler").waiters)
    leading.communicate("go on\n")
    assert int(says(next_one)) > int(term)
    next_one.communicate("go on\n")
    assert (leading.returncode, next_one.returncode) == (0, 0)
    assert program("elect", "scheduler").returncode == 1


def test_an_observer_prints_every_leader(program: Program, session: fencepost.Session) -> None:
    election = session.election("scheduler")
    election.campaign("one")
    observer = program.start("elect", "scheduler", "--observe", "--json")
    assert json.loads(says(observer))["value"] == "one"
    election.proclaim("two")
    assert json.loads(says(observer))["value"] == "two"
    election.resign()
    term = election.campaign("three").token
    assert json.loads(says(observer)) == {"term": term, "value": "three", "holder": "the test", "missed": 0}
    observer.send_signal(signal.SIGINT)
    assert ends(observer) == 128 + signal.SIGINT
    election.resign()


def test_an_observer_takes_nobody_for_a_leader_who_has_gone(program: Program, session: fencepost.Session) -> None:
    election = session.election("scheduler")
    term = election.campaign("one").token
    before, machine = (
        program.start("elect", "scheduler", "--observe"),
        program.start("elect", "scheduler", "--observe", "--json"),
    )
    assert (says(before), json.loads(says(machine))["term"]) == (f"{term} the test one", term)
    election.resign()
    assert complains(before) == "fencepost: nobody leads 'scheduler'"
    assert says(machine) == "null"
    later = program.start("elect", "scheduler", "--observe")
    assert complains(later) == "fencepost: nobody leads 'scheduler'"
    for observer in (before, machine, later):
        observer.send_signal(signal.SIGINT)
        assert ends(observer) == 128 + signal.SIGINT


def test_observing_and_leading_exclude_each_other(program: Program) -> None:
    done = program("elect", "scheduler", "--observe", "--", "true")
    assert done.returncode == 64
    assert "not both" in done.stderr
