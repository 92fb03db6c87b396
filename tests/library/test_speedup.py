"""speedup(): the same elements in the same order, or the dataset itself."""

from __future__ import annotations

import itertools
import os

import pytest
from hypothesis import given, settings, strategies as st

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
tf = pytest.importorskip("tensorflow")

import fitdoctor  # noqa: E402
from fitdoctor.contract.errors import UsageError  # noqa: E402
from fitdoctor.inside.lab.apparatus import ablation, pipeline_bench, windows  # noqa: E402
from fitdoctor.inside.lab.apparatus.dataset_timing import Timing  # noqa: E402
from fitdoctor.inside.seams.inputs import tf_adopt  # noqa: E402
from fitdoctor.inside.seams.inputs.tf_pipeline import made_of  # noqa: E402
from fitdoctor.library import tf_speedup  # noqa: E402
from fitdoctor.planning import chain, proposals  # noqa: E402

GB = 10**9
SOURCES = [
    lambda: tf.data.Dataset.range(7),
    lambda: tf.data.Dataset.from_tensor_slices(tf.range(12, dtype=tf.int64)),
]
STAGES = {
    "add": lambda d: d.map(lambda x: x + 1),
    "add_parallel": lambda d: d.map(lambda x: x + 1, num_parallel_calls=2),
    "any_order": lambda d: d.map(lambda x: x + 1, num_parallel_calls=2, deterministic=False),
    "center": lambda d: d.map(lambda x: x - tf.reduce_min(x)),
    "random": lambda d: d.map(
        lambda x: x + tf.random.uniform(tf.shape(x), maxval=9, dtype=tf.int64, seed=1)
    ),
    "batch": lambda d: d.batch(3),
    "drop": lambda d: d.batch(2, drop_remainder=True),
    "shuffle": lambda d: d.shuffle(5, seed=3),
    "repeat": lambda d: d.repeat(2),
    "keep": lambda d: d.filter(lambda x: tf.reduce_all(x != 3)),
    "weave": lambda d: d.interleave(lambda x: tf.data.Dataset.from_tensors(x), cycle_length=2),
    "cache": lambda d: d.cache(),
    "take": lambda d: d.take(4),
    "skip": lambda d: d.skip(1),
    "prefetch": lambda d: d.prefetch(1),
    "zip": lambda d: tf.data.Dataset.zip((d, d)).map(lambda a, b: a + b),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every stage takes a millisecond more, and every plan that may be made counts as faster.

    Endless iterators of elements as tiny as these take seconds to let go.
    """
    later = itertools.count(1)

    def timed(dataset: object, *_: object, **__: object) -> Timing:
        return Timing(windows.Windows(ns=[next(later) * 1e6]), first_ns=0, element_bytes=8)

    monkeypatch.setattr(ablation, "time_dataset", timed)
    monkeypatch.setattr(pipeline_bench, "time_dataset", timed)
    monkeypatch.setattr(tf_speedup, "_WORTH", 0.0)
    monkeypatch.setattr(chain, "NOTABLE_SHARE", 0.0)
    monkeypatch.setattr(chain, "SHORT_ELEMENT_NS", 1e12)
    monkeypatch.setattr(chain, "SMALLEST_BATCH", 1)
    monkeypatch.setattr(proposals, "WORTH_KEEPING", 0.0)


def passes(dataset: object) -> list[list[bytes]]:
    """Two passes over a dataset: a cache shows only in the second."""
    return [[x.numpy().tobytes() + str(x.shape).encode() for x in dataset] for _ in range(2)]


# deadline: TensorFlow traces every function anew.
@settings(max_examples=12, deadline=None)
@given(st.sampled_from(range(len(SOURCES))), st.lists(st.sampled_from(sorted(STAGES)), max_size=5))
def test_elements_stay_the_same_or_the_pipeline_is_left_alone(
    source: int, names: list[str]
) -> None:
    def make() -> object:
        dataset = SOURCES[source]()
        for name in names:
            dataset = STAGES[name](dataset)
        return dataset

    original = make()
    changed = tf_speedup.faster(original, free_bytes=GB).dataset
    # Reading a seeded shuffle moves its order on, so it must not even be tried.
    if {"random", "any_order", "shuffle"} & set(names):
        assert changed is original
    elif changed is not original:
        assert passes(changed) == passes(make())


def test_what_is_no_dataset_is_refused() -> None:
    with pytest.raises(UsageError, match="received list"):
        fitdoctor.speedup([1, 2])


def test_python_code_is_left_alone() -> None:
    dataset = tf.data.Dataset.range(3).map(
        lambda x: tf.numpy_function(lambda y: y + 1, [x], tf.int64)
    )
    found = tf_speedup.faster(dataset, free_bytes=GB)
    assert found.dataset is dataset
    assert "Python" in found.declined[0]


def test_a_cache_that_may_not_fit_is_declined() -> None:
    dataset = tf.data.Dataset.range(1000).map(lambda x: tf.fill([100], x))
    found = tf_speedup.faster(dataset, free_bytes=1000)
    assert "cache" not in found.applied


def test_an_unknown_number_of_elements_is_counted_before_it_is_cached() -> None:
    dataset = tf.data.Dataset.range(9).map(lambda x: x + 1).filter(lambda x: x > 2)
    found = tf_speedup.faster(dataset.map(lambda x: x * 2), free_bytes=GB)
    assert "cache" in found.applied
    # Seven elements of 8 bytes, and a quarter of 100 bytes.
    found = tf_speedup.faster(dataset.map(lambda x: x * 2), free_bytes=100)
    assert "cache" not in found.applied
    assert any("may not fit" in reason for reason in found.declined)


def test_deterministic_work_is_cached_before_the_shuffle() -> None:
    made = tf.data.Dataset.range(20).map(lambda x: x * x).shuffle(20).batch(4)
    found = tf_speedup.faster(made, free_bytes=GB)
    assert "cache" in found.applied, found.declined
    first, second = passes(found.dataset)
    assert first != second  # still shuffled anew in every pass


READABLE = ("add", "add_parallel", "batch", "keep", "weave", "shuffle", "repeat", "take", "skip")


@pytest.mark.parametrize("name", [*READABLE, "prefetch"])
def test_every_stage_can_be_read_off_the_dataset(name: str) -> None:
    # A private attribute of tf.data that moves must fail here.
    dataset = STAGES[name](tf.data.Dataset.range(9))
    tf_adopt.adopt(dataset)
    made = made_of(dataset)
    assert made is not None, type(dataset).__name__
    again = made.call(made.inputs, made.arguments)
    assert passes(again)[0] == passes(STAGES[name](tf.data.Dataset.range(9)))[0]
