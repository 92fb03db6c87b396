from __future__ import annotations

import pytest

from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.python_bound_loader import RULE as PYTHON_BOUND
from fitdoctor.rules.input.shipping_batches import RULE
from synthetic import MS, fit_workload, loader, restarted_epochs, view, windows


def shipped(
    here: float,
    *,
    processes: bool = True,
    frozen: float = MS,
    loading: float = 60 * MS,
    constructed: dict | None = None,
):
    facts = {
        "kind": "PyDataset",
        "workers": 2,
        "use_multiprocessing": processes,
        "file": "/user/data.py",
        "line": 9,
    }
    facts.update(constructed or {})
    made = {**windows(here), "payload_bytes": 57_000_000, "pickle_ns": 40 * MS}
    probes = {
        "frozen_batch": windows(frozen),
        "loader_alone": loader(loading, cores=1.0, user_share=1.0, children_cores=0.5),
        "input": facts,
        "in_process": made,
    }
    return view(
        fit_workload(period=round(loading), step=round(frozen), wait=59 * MS, probes=probes)
    )


def test_silent_with_threads() -> None:
    assert RULE.detect(shipped(6 * MS, processes=False)) is None


def test_silent_when_making_the_batch_here_takes_as_long() -> None:
    assert RULE.detect(shipped(55 * MS)) is None


def test_silent_when_the_step_hides_it() -> None:
    assert RULE.detect(shipped(6 * MS, frozen=60 * MS)) is None


def test_fires_when_one_thread_here_is_faster() -> None:
    found = RULE.detect(shipped(6 * MS))
    assert found is not None
    assert found.gain.value == pytest.approx(10.0, rel=0.1)
    assert "57.0 MB" in found.message
    assert found.cure.safety == "safe"
    assert "use_multiprocessing=False" in found.cure.summary


def test_python_is_not_blamed_for_the_shipping() -> None:
    assert PYTHON_BOUND.detect(shipped(6 * MS)) is None
    assert PYTHON_BOUND.detect(shipped(55 * MS)) is not None


def test_processes_are_switched_off_where_the_loader_is_made() -> None:
    assert RULE.detect(shipped(6 * MS)).cure.edits == ()
    made = {"made": {"file": "/user/t.py", "line": 3, "call": "Rows"}}
    found = RULE.detect(shipped(6 * MS, constructed=made))
    where = Where("/user/t.py", 3)
    assert found.cure.edits == (SetKeyword(where, "Rows", "use_multiprocessing", "False"),)


def restarted(
    first_wait: int,
    *,
    workers: int = 1,
    started: float = 2e9,
    ending: int = 0,
    persistent: bool = False,
):
    facts = {
        "kind": "DataLoader",
        "workers": workers,
        "persistent": persistent,
        "file": "/user/data.py",
        "line": 9,
        "made": {"file": "/user/train.py", "line": 42, "call": "DataLoader"},
    }
    alone = {**loader(MS), "first_batch_ns": started}
    probes = {"frozen_batch": windows(9 * MS), "loader_alone": alone, "input": facts}
    return view(restarted_epochs(first_wait, ending=ending, probes=probes))


def test_silent_where_the_first_batch_comes_at_once() -> None:
    assert RULE.detect(restarted(10 * MS)) is None


def test_silent_without_worker_processes() -> None:
    assert RULE.detect(restarted(2000 * MS, workers=0)) is None


def test_silent_where_the_workers_stay() -> None:
    # What lies between epochs then is something else, however long a fresh start would take.
    assert RULE.detect(restarted(80 * MS, ending=1800 * MS, persistent=True)) is None


def test_silent_where_a_fresh_start_does_not_explain_the_wait() -> None:
    assert RULE.detect(restarted(2000 * MS, started=20 * MS)) is None


def test_fires_where_workers_are_started_anew_for_every_epoch() -> None:
    found = RULE.detect(restarted(2000 * MS))
    assert found is not None
    assert found.where == Where("/user/train.py", 42)
    # Four epochs of 0.4 s, and three waits of 2 s between them.
    assert found.gain.value == pytest.approx(7.6 / 1.9, rel=0.1)
    assert found.cure.safety == "unsafe"
    assert "persistent_workers=True" in found.cure.summary


def test_workers_that_start_while_the_last_ones_end_show_between_epochs() -> None:
    # The next workers read while the last ones are ended: the first batch is there at once.
    found = RULE.detect(restarted(80 * MS, started=900 * MS, ending=1800 * MS))
    assert found is not None
    assert found.gain.value > 2
    assert "persistent_workers=True" in found.cure.summary
    # What is far longer than starting twice is something else.
    assert RULE.detect(restarted(80 * MS, started=100 * MS, ending=1800 * MS)) is None


def test_ending_the_workers_is_saved_too() -> None:
    plain, ended = restarted(2000 * MS), restarted(2000 * MS, ending=1000 * MS)
    assert RULE.detect(ended).gain.high > RULE.detect(plain).gain.high


def test_starting_and_ending_processes_with_every_epoch_is_saved_by_threads() -> None:
    facts = {"kind": "PyDataset", "workers": 2, "use_multiprocessing": True}
    probes = {
        "frozen_batch": windows(MS),
        "loader_alone": loader(10 * MS, cores=1.0, user_share=1.0, children_cores=0.5),
        "input": {**facts, "file": "/user/data.py", "line": 9},
        "in_process": {**windows(2 * MS), "payload_bytes": 57_000_000, "pickle_ns": MS},
    }
    kept = RULE.detect(view(restarted_epochs(0, probes=probes)))
    begun = RULE.detect(view(restarted_epochs(500 * MS, ending=200 * MS, probes=probes)))
    assert kept is not None
    assert begun is not None
    assert begun.gain.value > 1.3 * kept.gain.value
