from __future__ import annotations

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import BatchInProcess, InputFacts
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.places import CallLine
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.rules.input.python_bound_loader import RULE as PYTHON_BOUND
from fitdoctor.rules.input.shipping_batches import RULE
from synthetic import MS, fit_workload, loader, restarted_epochs, timed, view


def shipped(
    here: float,
    *,
    processes: bool = True,
    frozen: float = MS,
    loading: float = 60 * MS,
    made: CallLine | None = None,
) -> View:
    found = (
        timed(FrozenBatch, frozen),
        loader(loading, cores=1.0, user_share=1.0, children_cores=0.5),
        InputFacts(
            kind="PyDataset",
            workers=2,
            use_multiprocessing=processes,
            file="/user/data.py",
            line=9,
            made=made,
        ),
        timed(BatchInProcess, here, payload_bytes=57_000_000, pickle_ns=40 * MS),
    )
    return view(fit_workload(period=round(loading), step=round(frozen), wait=59 * MS, found=found))


def fired(seen: View) -> Finding:
    found = RULE.detect(seen)
    assert found is not None
    return found


def test_silent_with_threads() -> None:
    assert RULE.detect(shipped(6 * MS, processes=False)) is None


def test_silent_when_making_the_batch_here_takes_as_long() -> None:
    assert RULE.detect(shipped(55 * MS)) is None


def test_silent_when_the_step_hides_it() -> None:
    assert RULE.detect(shipped(6 * MS, frozen=60 * MS)) is None


def test_fires_when_one_thread_here_is_faster() -> None:
    found = fired(shipped(6 * MS))
    assert found.gain.value == pytest.approx(10.0, rel=0.1)
    assert "57.0 MB" in found.message
    assert found.cure.safety == "safe"
    assert "use_multiprocessing=False" in found.cure.summary


def test_python_is_not_blamed_for_the_shipping() -> None:
    assert PYTHON_BOUND.detect(shipped(6 * MS)) is None
    assert PYTHON_BOUND.detect(shipped(55 * MS)) is not None


def test_processes_are_switched_off_where_the_loader_is_made() -> None:
    assert fired(shipped(6 * MS)).cure.edits == ()
    made = CallLine(call="Rows", file="/user/t.py", line=3)
    where = Where("/user/t.py", 3)
    edit = SetKeyword(where, "Rows", "use_multiprocessing", "False")
    assert fired(shipped(6 * MS, made=made)).cure.edits == (edit,)


def restarted(
    first_wait: int,
    *,
    workers: int = 1,
    started: int = 2000 * MS,
    ending: int = 0,
    persistent: bool = False,
) -> View:
    found = (
        timed(FrozenBatch, 9 * MS),
        loader(MS, first_batch_ns=started),
        InputFacts(
            kind="DataLoader",
            workers=workers,
            persistent=persistent,
            file="/user/data.py",
            line=9,
            made=CallLine(call="DataLoader", file="/user/train.py", line=42),
        ),
    )
    return view(restarted_epochs(first_wait, ending=ending, found=found))


def test_silent_where_the_first_batch_comes_at_once() -> None:
    assert RULE.detect(restarted(10 * MS)) is None


def test_silent_without_worker_processes() -> None:
    assert RULE.detect(restarted(2000 * MS, workers=0)) is None


def test_silent_where_the_workers_stay() -> None:
    # What lies between epochs then is something else, however long a fresh start would take.
    assert RULE.detect(restarted(80 * MS, ending=1800 * MS, persistent=True)) is None


def test_silent_where_a_fresh_start_does_not_explain_the_wait() -> None:
    assert RULE.detect(restarted(2000 * MS, started=20 * MS)) is None


def test_fires_where_workers_are_started_again_for_every_epoch() -> None:
    found = fired(restarted(2000 * MS))
    assert found.where == Where("/user/train.py", 42)
    # Four epochs of 0.4 s, and three waits of 2 s between them.
    assert found.gain.value == pytest.approx(7.6 / 1.9, rel=0.1)
    assert found.cure.safety == "unsafe"
    assert "persistent_workers=True" in found.cure.summary


def test_workers_that_stay_are_asked_for_where_the_loader_is_made() -> None:
    where = Where("/user/train.py", 42)
    edit = SetKeyword(where, "DataLoader", "persistent_workers", "True")
    assert fired(restarted(2000 * MS)).cure.edits == (edit,)


def test_workers_that_start_while_the_last_ones_end_show_between_epochs() -> None:
    # The next workers read while the last ones are ended: the first batch is there at once.
    found = fired(restarted(80 * MS, started=900 * MS, ending=1800 * MS))
    assert found.gain.value > 2
    assert "persistent_workers=True" in found.cure.summary
    # What is far longer than starting twice is something else.
    assert RULE.detect(restarted(80 * MS, started=100 * MS, ending=1800 * MS)) is None


def test_ending_the_workers_is_saved_too() -> None:
    plain, ended = restarted(2000 * MS), restarted(2000 * MS, ending=1000 * MS)
    assert fired(ended).gain.high > fired(plain).gain.high


def test_starting_and_ending_processes_with_every_epoch_is_saved_by_threads() -> None:
    found = (
        timed(FrozenBatch, MS),
        loader(10 * MS, cores=1.0, user_share=1.0, children_cores=0.5),
        InputFacts(
            kind="PyDataset", workers=2, use_multiprocessing=True, file="/user/data.py", line=9
        ),
        timed(BatchInProcess, 2 * MS, payload_bytes=57_000_000, pickle_ns=MS),
    )
    kept = fired(view(restarted_epochs(0, found=found)))
    begun = fired(view(restarted_epochs(500 * MS, ending=200 * MS, found=found)))
    assert begun.gain.value > 1.3 * kept.gain.value


def test_the_page_has_the_numbers_of_the_code() -> None:
    assert "80 % of the time that a batch from the workers takes" in RULE.page
    assert "2 fresh starts" in RULE.page
