from __future__ import annotations

import pytest

from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.place import Where
from fitdoctor.rules.in001 import RULE as PYTHON_BOUND
from fitdoctor.rules.in008 import RULE
from synthetic import MS, fit_workload, loader, view, windows


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
