from __future__ import annotations

from typing import Any

import pytest

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import (
    AdapterFloor,
    BatchInProcess,
    GeneratorInPlace,
    InputFacts,
    LoaderAlone,
    SameBatches,
    ThreadsForWork,
)
from fitdoctor.contract.evidence.pipeline import CachedPython, StageTime
from fitdoctor.contract.evidence.step import BatchScaling, FrozenBatch
from fitdoctor.contract.evidence.timing import NativePart, Timed
from fitdoctor.contract.places import CallLine
from fitdoctor.findings.edits import AppendCall, Memoise
from fitdoctor.findings.finding import Finding
from fitdoctor.findings.place import Where
from fitdoctor.pricing.python_loader import VECTORISED
from fitdoctor.rules.input.python_bound_loader import RULE
from synthetic import MS, fit_workload, loader, slow_pipeline, stage, timed, tried, view

PYDATASET = InputFacts(kind="PyDataset", workers=1, file="/user/data.py", line=9, name="Rows")


def waiting(alone: LoaderAlone | None, *, frozen: float = 2 * MS, **more: Any) -> View:
    found = [timed(FrozenBatch, frozen), PYDATASET, *([alone] if alone is not None else [])]
    return view(fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found), **more)


def native(ns: float, *, traced: float = 60 * MS, random: bool | None = None) -> NativePart:
    return NativePart(
        native_ns=round(ns), traced_ns=round(traced), complete=True, events=100, random=random
    )


def test_silent_without_a_measured_loader() -> None:
    assert RULE.detect(waiting(None)) is None


def test_silent_when_the_frozen_step_takes_as_long() -> None:
    # A Python loader that the step hides costs nothing.
    assert RULE.detect(waiting(loader(15 * MS, user_share=1.0), frozen=19.9 * MS)) is None


def test_silent_when_the_loader_only_waits() -> None:
    assert RULE.detect(waiting(loader(19 * MS, cores=0.1, user_share=1.0))) is None


def test_silent_when_native_code_does_the_work() -> None:
    assert RULE.detect(waiting(loader(19 * MS, cores=2.0, user_share=0.0))) is None


def test_silent_when_the_loader_does_not_explain_the_wait() -> None:
    assert RULE.detect(waiting(loader(1 * MS, user_share=1.0))) is None


def test_silent_on_a_held_lock_when_no_python_makes_the_batches() -> None:
    found = (
        timed(FrozenBatch, 2 * MS),
        loader(19 * MS, lock_share=0.9),
        InputFacts(kind="arrays"),
    )
    arrays = fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found)
    assert RULE.detect(view(arrays)) is None


def short_function(*, lock: float, own: float) -> Finding | None:
    """A pipeline whose map calls a Python function that is over before it is seen running."""
    row = StageTime(
        n=1,
        per_batch=32.0,
        ns=30 * MS,
        cpu_ns=30 * MS,
        own_ns=round(own),
        own_cpu_ns=0,
    )
    workload = slow_pipeline(
        stage("batch", 0),
        stage("map", 1, python=True),
        stage("range", 2, inputs=()),
        rows=[row],
        found=[loader(30 * MS, cores=1.2, lock_share=lock)],
    )
    return RULE.detect(view(workload))


def test_silent_where_the_lock_is_free() -> None:
    assert short_function(lock=0.1, own=29 * MS) is None


def test_silent_where_the_python_stage_is_cheap() -> None:
    assert short_function(lock=0.9, own=5 * MS) is None


def fought_over(lock: float) -> Finding | None:
    """Steps of 70 ms beside a loader that takes 25 ms alone."""
    found = (
        timed(FrozenBatch, MS),
        loader(25 * MS, cores=1.0, user_share=1.0, lock_share=lock),
        PYDATASET,
    )
    return RULE.detect(view(fit_workload(period=70 * MS, step=40 * MS, wait=20 * MS, found=found)))


def test_silent_where_most_of_the_wait_is_not_the_loaders() -> None:
    assert fought_over(0.1) is None


def test_a_loader_that_holds_the_lock_is_in_the_steps_way_too() -> None:
    assert fought_over(0.9) is not None


def test_calling_a_short_function_from_the_graph_is_python_too() -> None:
    finding = short_function(lock=0.7, own=29 * MS)
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 101
    assert "the function of map" in finding.message


def test_fires_on_a_held_lock_where_python_makes_the_batches() -> None:
    # Seen on a DataLoader: the sampler got the lock only inside torch's own calls.
    assert RULE.detect(waiting(loader(19 * MS, user_share=0.1, lock_share=0.9))) is not None


def test_fires_on_python_that_keeps_one_core_busy() -> None:
    finding = RULE.detect(waiting(loader(19 * MS, user_share=0.95)))
    assert finding is not None
    assert finding.where == Where("/user/data.py", 12)
    # Python work 50 times faster leaves the frozen step: 20 ms / about 2.1 ms.
    assert finding.gain.value == pytest.approx(9.5, rel=0.1)
    assert finding.gain.low <= finding.gain.value <= finding.gain.high
    assert finding.evidence["threads_help"] is False


def in_place(**more: Any) -> GeneratorInPlace:
    return GeneratorInPlace(
        **{"count": 100, "wall_ns": 100 * 18 * MS, "cpu_ns": 100 * 17 * MS, **more}
    )


def test_a_generator_is_judged_where_it_ran() -> None:
    found = (
        timed(FrozenBatch, 2 * MS),
        InputFacts(kind="generator", file="/user/gen.py", line=5, name="rows"),
        in_place(),
    )
    workload = fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found)
    finding = RULE.detect(view(workload))
    assert finding is not None
    assert finding.where is not None
    assert finding.where.line == 5
    assert finding.evidence["measured_in_place"] is True


def test_points_at_the_stage_of_a_pipeline_that_runs_python() -> None:
    stages = (
        stage("BatchDataset", 0, file="/user/p.py", line=3),
        stage("ParallelMapDataset", 1, file="/user/p.py", line=2, python=True),
    )
    found = (
        timed(FrozenBatch, 2 * MS),
        loader(19 * MS, user_share=1.0),
        InputFacts(kind="tf.data", stages=stages),
    )
    workload = fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found)
    finding = RULE.detect(view(workload))
    assert finding is not None
    assert finding.where == Where("/user/p.py", 2)


MADE = CallLine(call="Rows", file="/user/data.py", line=40)


def python_loader(
    *, pickle_ns: float, length: int = 1000, cpus: int = 4, made: CallLine | None = MADE
) -> Finding:
    found = (
        timed(FrozenBatch, MS),
        loader(30 * MS, user_share=1.0),
        InputFacts(kind="PyDataset", workers=1, file="/user/data.py", line=9, made=made),
        timed(
            BatchInProcess,
            30 * MS,
            payload_bytes=2_000_000,
            pickle_ns=round(pickle_ns),
            length=length,
        ),
    )
    workload = fit_workload(
        period=30 * MS, step=MS, wait=29 * MS, found=found, detail={"epochs": 10}
    )
    finding = RULE.detect(view(workload, cpus=cpus))
    assert finding is not None
    return finding


def test_processes_are_named_where_they_would_win() -> None:
    found = python_loader(pickle_ns=0.5 * MS, made=None)
    assert "workers=4, use_multiprocessing=True" in found.cure.summary
    assert found.partly is None


def test_processes_are_warned_of_where_shipping_costs_as_much() -> None:
    assert "would not help" in python_loader(pickle_ns=20 * MS).cure.summary
    assert python_loader(pickle_ns=20 * MS).partly is None


def test_processes_are_not_worth_their_start_for_a_short_run() -> None:
    assert "too short" in python_loader(pickle_ns=0.5 * MS, length=5).cure.summary
    assert python_loader(pickle_ns=0.5 * MS, length=5).partly is None


def test_processes_are_what_an_edit_can_do() -> None:
    found = python_loader(pickle_ns=0.5 * MS)
    part = found.as_edited
    assert found.cure.safety == "advice"
    assert part is found.partly
    assert part.cure.safety == "unsafe"
    assert [edit.in_words() for edit in part.cure.edits] == [
        "give Rows() workers=4",
        "give Rows() use_multiprocessing=True",
    ]
    # Four processes of 30 ms each, a step of 1 ms on the same cores, 1 ms to hand a batch over.
    assert part.gain.value == pytest.approx(30 / 8.75, rel=0.1)
    assert part.gain.value < found.gain.value
    # Named once, with its gain.
    assert found.cure.summary == "vectorise __getitem__ in NumPy"


def test_native_calls_stay_when_the_loop_around_them_is_rewritten() -> None:
    fast = RULE.detect(waiting(loader(19 * MS, user_share=1.0)))

    def finding(native_ms: float) -> Finding:
        made = timed(
            BatchInProcess,
            19 * MS,
            thread_cpu_ns=19 * MS,
            native=native(native_ms * MS),
            pickle_ns=1000,
            payload_bytes=100,
        )
        found = (timed(FrozenBatch, 2 * MS), PYDATASET, loader(19 * MS, user_share=1.0), made)
        workload = fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found)
        one = RULE.detect(view(workload))
        assert one is not None
        return one

    assert fast is not None
    some, most = finding(6), finding(18)
    assert some.gain.value < fast.gain.value / 1.5
    # Two cores share 19 ms of loading and 2 ms of step.
    assert most.gain.value == pytest.approx(20 / 10.5, rel=0.15)
    assert "workers=2" in most.cure.summary
    assert most.evidence["threads_help"]
    assert "native calls" in most.message
    assert most.evidence["native_share"] == pytest.approx(18 / 19, abs=0.01)


def generated(*, share: float, random: bool | None) -> Finding | None:
    """A generator of 18 ms a batch, `share` of which are native calls."""
    found = (
        timed(FrozenBatch, 2 * MS),
        InputFacts(kind="generator", name="rows", file="/user/data.py", line=5),
        in_place(native=native(share * 17 * MS, traced=150 * MS, random=random)),
    )
    return RULE.detect(view(fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found)))


def test_work_without_random_numbers_can_be_done_once() -> None:
    kept, once = (generated(share=0.2, random=r) for r in (True, False))
    assert kept is not None
    assert once is not None
    assert once.gain.value > 1.5 * kept.gain.value


def test_an_older_recording_does_not_know() -> None:
    kept, unknown = (generated(share=0.2, random=r) for r in (True, None))
    assert kept is not None
    assert unknown is not None
    assert unknown.gain.value == pytest.approx(kept.gain.value)


def scaling(small: float, large: float) -> BatchScaling:
    return BatchScaling(rows=32, sizes={"8": timed(Timed, small), "128": timed(Timed, large)})


@pytest.mark.parametrize(("large", "beside"), [(1 * MS, 0.5 * MS), (4 * MS, 0.0)])
def test_python_for_a_batch_shares_the_lock_with_a_step_that_only_starts_operations(
    large: float, beside: float
) -> None:
    # Keras needs 0.5 ms of Python for a batch that costs nothing; a step 1 ms, of dispatch or not.
    found = (
        timed(FrozenBatch, 1 * MS),
        PYDATASET,
        loader(19 * MS, user_share=1.0),
        timed(AdapterFloor, 0.5 * MS),
        scaling(1 * MS - (large - 1 * MS) / 4, large),
    )
    finding = RULE.detect(view(fit_workload(period=20 * MS, step=MS, wait=19 * MS, found=found)))
    assert finding is not None
    left = 20 * MS / finding.gain.value
    assert left == pytest.approx(1.0 * MS + beside, rel=0.25)


def test_as_tensorflow_ops_the_python_between_native_calls_goes_too() -> None:
    found = (
        timed(FrozenBatch, 4 * MS),
        InputFacts(kind="generator", name="images", file="/user/data.py", line=9),
        in_place(
            wall_ns=100 * 60 * MS,
            cpu_ns=100 * 60 * MS,
            native=native(40 * MS, traced=70 * MS, random=True),
        ),
    )
    workload = fit_workload(period=62 * MS, step=4 * MS, wait=58 * MS, found=found)
    finding = RULE.detect(view(workload))
    assert finding is not None
    # 40 ms of native work on two cores, beside a step of 4 ms.
    assert 62 * MS / finding.gain.value == pytest.approx((40 + 4 + 2) / 2 * MS, rel=0.1)


PYTHON_MAP = (
    stage("batch", 0),
    stage("map", 1, python=True, file="/user/data.py", line=20),
    stage("from_tensor_slices", 2, inputs=()),
)


def python_pipeline(detail: dict[str, Any] | None = None, **facts: Any) -> Finding | None:
    kept = {
        "stage": 1,
        "elements": 1000,
        "element_bytes": 100_000,
        "available_bytes": 8 * 10**9,
        "per_batch": 32.0,
        "keeps_order": True,
        "python": True,
        **facts,
    }
    found = (loader(30 * MS, user_share=0.95), tried(CachedPython, 0.3 * MS, 30 * MS, **kept))
    return RULE.detect(view(slow_pipeline(*PYTHON_MAP, found=found, detail=detail)))


@pytest.mark.parametrize(
    ("detail", "facts"),
    [({"epochs": 1}, {}), (None, {"element_bytes": 10**8}), (None, {"element_bytes": None})],
    ids=["one epoch", "larger than memory", "of unknown size"],
)
def test_python_in_a_pipeline_is_not_cached(
    detail: dict[str, Any] | None, facts: dict[str, Any]
) -> None:
    found = python_pipeline(detail, **facts)
    assert found is not None
    assert found.partly is None


def test_python_that_repeats_itself_is_cached_by_an_edit() -> None:
    found = python_pipeline()
    assert found is not None
    assert found.cure.safety == "advice"
    part = found.partly
    assert part is not None
    assert part.cure.safety == "unsafe"
    assert part.cure.edits == (AppendCall(Where("/user/data.py", 20), "map", ".cache()"),)
    assert part.gain.value == pytest.approx(15, rel=0.1)


def native_rows(tried_ns: float, *, lock_share: float = 0.2, **detail: Any) -> Finding | None:
    """Batches of 19 ms, mostly native, and what two threads made of them."""
    made = timed(
        BatchInProcess,
        19 * MS,
        thread_cpu_ns=19 * MS,
        native=native(17 * MS, traced=30 * MS),
        payload_bytes=10**8,
        pickle_ns=50 * MS,
        length=50,
    )
    found = (
        timed(FrozenBatch, 2 * MS),
        PYDATASET,
        loader(19 * MS, user_share=0.95, lock_share=lock_share),
        made,
        timed(ThreadsForWork, tried_ns, own_cores=1.5, workers=2),
    )
    return RULE.detect(
        view(fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found, detail=detail))
    )


def test_threads_are_priced_by_their_trial() -> None:
    found = native_rows(12 * MS)
    assert found is not None
    assert "threads" in found.cure.summary
    assert found.gain.value == pytest.approx(20 / 12, rel=0.05)


@pytest.mark.parametrize("lock_share", [0.2, 0.9])
def test_where_threads_did_not_help_other_ways_do(lock_share: float) -> None:
    # Parsing JSON is native, and keeps Python's lock.
    found = native_rows(18.9 * MS, lock_share=lock_share)
    assert found is not None
    assert "in parallel, or once before training" in found.cure.summary
    assert found.cure.edits == ()
    assert found.gain.value == pytest.approx(20 / 9.5, rel=0.1)


def test_the_queue_of_workers_takes_a_tenth_of_a_second_at_the_end_of_an_epoch() -> None:
    found = native_rows(12 * MS, steps_per_epoch=50)
    assert found is not None
    assert found.gain.value == pytest.approx(20 / 14, rel=0.05)


def same_rows(epochs: int = 10, random: bool | None = False, **facts: Any) -> Finding | None:
    """A PyDataset that gave the same batches again, and whose batches cost 0.2 ms if kept."""
    made = timed(
        BatchInProcess,
        19 * MS,
        thread_cpu_ns=19 * MS,
        native=native(0, random=random),
        payload_bytes=10**6,
        pickle_ns=50 * MS,
        length=50,
    )
    same = {"same": True, "compared": 20, "length": 50, "available_bytes": 10**9, **facts}
    found = (
        timed(FrozenBatch, 2 * MS),
        PYDATASET,
        loader(19 * MS, user_share=0.95),
        made,
        timed(AdapterFloor, 0.2 * MS),
        SameBatches(**same),
    )
    detail = {"epochs": epochs, "steps_per_epoch": 50}
    return RULE.detect(
        view(fit_workload(period=20 * MS, step=2 * MS, wait=18 * MS, found=found, detail=detail))
    )


@pytest.mark.parametrize(
    "facts",
    [
        {"epochs": 1},
        {"same": False},
        {"hooks": ("on_epoch_end",)},
        {"hashable": False},
        {"available_bytes": 90 * 10**6},
        {"available_bytes": None},
        {"random": True},
    ],
    ids=[
        "one epoch",
        "other batches",
        "shuffles itself",
        "no key",
        "no room",
        "room unknown",
        "draws random numbers",
    ],
)
def test_batches_that_may_change_or_do_not_fit_are_not_kept(facts: dict[str, Any]) -> None:
    found = same_rows(**facts)
    assert found is not None
    assert found.partly is None


def test_the_same_batches_are_kept_by_an_edit() -> None:
    found = same_rows()
    assert found is not None
    assert found.partly is not None
    assert found.partly.cure.edits == (Memoise(Where("/user/data.py", 9), "__getitem__"),)
    assert found.partly.cure.safety == "unsafe"
    assert found.partly.gain.value == pytest.approx(9, rel=0.15)


def test_the_page_has_the_numbers_of_the_code() -> None:
    # The page once said 5 % and "20 to 300".
    assert "gain of 10 %" in RULE.page
    assert f"80 (20 to {VECTORISED.high:g}) times faster" in RULE.page
    assert "at least 0.6 cores" in RULE.page
