from __future__ import annotations

from fitdoctor.analysis.input_line import input_line, narrowest
from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.pipeline import StageTime
from synthetic import MS, fit_workload, loader, slow_pipeline, stage, view

STAGES = (
    stage("batch", 0),
    stage("map", 1),
    stage("with_options", 2),
    stage("range", 3, inputs=()),
)


def row(n: int, ns: int, own: int) -> StageTime:
    return StageTime(n=n, per_batch=1.0, ns=ns, cpu_ns=0, own_ns=own, own_cpu_ns=own // 2)


def test_nothing_is_said_where_nothing_is_known() -> None:
    assert input_line(view(fit_workload())) is None


def test_a_pipeline_is_named_by_its_calls_and_its_narrowest_stage() -> None:
    rows = [row(0, 30 * MS, 1 * MS), row(1, 29 * MS, 28 * MS), row(3, MS, MS)]
    seen = view(slow_pipeline(*STAGES, rows=rows))
    text = input_line(seen)
    assert text is not None
    assert text.startswith("tf.data: range > map > batch; 30.0 ms a batch alone")
    assert text.endswith("most of it in map (data.py:101)")


def test_no_stage_is_the_narrowest_when_all_take_alike() -> None:
    rows = [row(0, 40 * MS, 10 * MS), row(1, 30 * MS, 10 * MS), row(3, 20 * MS, 10 * MS)]
    assert narrowest(view(slow_pipeline(*STAGES, rows=rows))) is None


def test_workers_are_named() -> None:
    facts = InputFacts(kind="PyDataset", name="Rows", workers=3, use_multiprocessing=True)
    text = input_line(view(fit_workload(found=[facts, loader(5 * MS)])))
    assert text is not None
    assert text.startswith("PyDataset Rows, 3 worker processes; ")


def test_workers_of_torch_are_processes_and_none_is_a_word() -> None:
    def line(workers: int) -> str:
        facts = InputFacts(kind="DataLoader", name="Rows", workers=workers)
        text = input_line(view(fit_workload(found=[facts])))
        assert text is not None
        return text

    assert line(0).startswith("DataLoader Rows, no worker processes")
    assert line(1).startswith("DataLoader Rows, 1 worker")
    assert line(2).startswith("DataLoader Rows, 2 worker processes")
