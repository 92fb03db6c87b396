"""Moves are made only where real elements came out the same; plans give the same elements."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from fitdoctor.contract.evidence.plans import InputPlan
from fitdoctor.inside.lab.apparatus import ablation, pipeline_bench, windows
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators, Timing
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench
from fitdoctor.inside.lab.apparatus.plan_trials import PlanTrials
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs import tf_plan, tf_stages
from fitdoctor.planning.bounds import Step

tf = pytest.importorskip("tensorflow")
FREE = 1e9


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every stage takes 50 µs more than the one before; nothing here judges a time."""
    later = itertools.count(1)

    def timed(dataset: object, *_: object, **__: object) -> Timing:
        use = SimpleNamespace(wall_ns=1, own_cores=1.0, children_cores=0.0, is_clean=True)
        found = windows.Windows(ns=[next(later) * 5e4], cpu=[use])  # type: ignore[list-item]
        return Timing(found, first_ns=0, element_bytes=8)

    monkeypatch.setattr(ablation, "time_dataset", timed)
    monkeypatch.setattr(pipeline_bench, "time_dataset", timed)
    recorder = Recorder(SimpleNamespace(write=lambda line: None))  # type: ignore[arg-type]
    tf_stages.watch_datasets(recorder, importlib.import_module(tf_stages.DATASET_MODULE))
    yield
    recorder.patches.undo()


def rows(count: int = 200) -> Any:
    return tf.data.Dataset.range(count)


def trials(dataset: Any) -> PlanTrials:
    bench = PipelineBench(dataset, Iterators())
    bench.ablation.run()
    return PlanTrials(bench, Step(), FREE)


def orders(dataset: Any) -> list[tuple[tuple[int, ...], bool, bool]]:
    return [(one.order, one.same, one.keeps_order) for one in trials(dataset).orders()]


def labelled(x: Any) -> Any:
    return x, x % 4


def is_kept(x: Any, label: Any) -> Any:
    return label == 0


def test_a_filter_stays_after_what_it_decides_on() -> None:
    data = rows().map(labelled).map(lambda x, label: (x, label + 1)).filter(is_kept)
    assert orders(data) == [((0, 1, 2), True, True)]


def test_a_filter_moves_past_what_it_does_not_look_at() -> None:
    data = rows().map(labelled).map(lambda x, label: (x * 2, label)).filter(is_kept)
    assert ((1, 0, 2), True, True) in orders(data)
    # The first map gives the filter its label, so it stays where it is.
    assert all(order[-1] == 2 for order, _, _ in orders(data))


def test_random_work_stays() -> None:
    def noise(x: Any) -> Any:
        return tf.cast(x, tf.float32) + tf.random.uniform(())

    assert orders(rows().map(noise).batch(8)) == [((0, 1), True, True)]


def test_a_function_of_one_element_is_not_given_batches() -> None:
    data = rows().map(lambda x: tf.fill((2,), x)).map(lambda x: x - tf.reduce_min(x)).batch(8)
    assert orders(data) == [((0, 1, 2), True, True)]


def test_a_shuffle_that_moves_is_another_order() -> None:
    data = rows().map(lambda x: x * 3).shuffle(5000)
    assert orders(data)[-1] == ((1, 0), True, False)


def test_strings_are_compared_by_what_they_say() -> None:
    data = rows().map(tf.strings.as_string).map(lambda x: tf.strings.join([x, "!"])).batch(8)
    assert ((1, 2, 0), True, True) in orders(data)


def test_what_runs_python_is_moved_only_where_that_may_change_things() -> None:
    data = rows().map(lambda x: tf.numpy_function(lambda y: y + 1, [x], tf.int64)).batch(8)
    assert all(same is (order == (0, 1)) for order, same, _ in orders(data))


def test_a_plan_is_carried_out() -> None:
    data = rows(32).map(lambda x: x + 1).map(lambda x: x * 2).batch(4)
    chain = tf_plan.chain_of(tf_stages.walk(data))
    plan = InputPlan(order=(1, 0, 2), calls=((2, 3),), cache_after=0, pool=5)
    changed = tf_plan.carried_out(chain, plan)
    for _ in range(2):
        assert [one.numpy().tolist() for one in changed] == [one.numpy().tolist() for one in data]
    ops = [stage.op for stage in tf_stages.walk(changed)]
    assert [op for op in ops if op in ("map", "cache", "batch")] == ["map", "cache", "batch", "map"]
    assert changed.options().threading.private_threadpool_size == 5
    assert [one.parallel for one in tf_stages.walk(changed) if one.op == "map"] == [None, 3]


def test_what_is_tried_and_why_not() -> None:
    found = trials(rows().map(lambda x: x * 3).batch(8)).run()
    assert {row.plan.cache_after for row in found.rows} >= {None, 0}
    assert all(row.same and row.keeps_order and not row.redraws for row in found.rows)
    assert found.available_bytes == FREE
