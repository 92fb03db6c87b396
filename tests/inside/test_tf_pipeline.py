"""Pipelines noted call by call, walked, edited and timed: on real tf.data."""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fitdoctor.contract.writer import Writer
from fitdoctor.inside.lab.apparatus import cache_point
from fitdoctor.inside.lab.apparatus.ablation import Ablation
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators, bytes_of, time_dataset
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench
from fitdoctor.inside.lab.probes.cached import KeepInMemory, KeepPythonInMemory
from fitdoctor.inside.lab.probes.generator_alone import generator_alone
from fitdoctor.inside.lab.probes.more_reads import ReadSideBySide
from fitdoctor.inside.lab.probes.packed import KeepOnDisk
from fitdoctor.inside.lab.probes.parallel_map import MapInParallel
from fitdoctor.inside.lab.probes.record_files import record_files
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs import tf_edits, tf_stages
from fitdoctor.inside.seams.inputs.generators import one_shot_source
from fitdoctor.inside.seams.inputs.tf_pipeline import SOURCES, TRANSFORMATIONS, made_of, substituted
from fitdoctor.inside.seams.not_available import NotAvailable

pytestmark = pytest.mark.end_to_end


@pytest.fixture(scope="module")
def tf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    tensorflow = importlib.import_module("tensorflow")
    recorder = Recorder(Writer(str(tmp_path_factory.mktemp("rec") / "a.rec")))
    tf_stages.watch_datasets(recorder, importlib.import_module(tf_stages.DATASET_MODULE))
    yield tensorflow
    recorder.patches.undo()
    assert made_of(tensorflow.data.Dataset.range(3).map(lambda x: x)) is None


def values(dataset: Any) -> list[Any]:
    return [np.asarray(one).tolist() for one in dataset.as_numpy_iterator()]


def rows_of(dataset: Any) -> list[Any]:
    return sorted(row for batch in values(dataset) for row in batch)


def test_a_stage_tells_which_function_of_a_library_made_it(tf: Any, tmp_path: Path) -> None:
    keras = importlib.import_module("keras")
    for name in "ab":
        (tmp_path / name).mkdir()
        keras.utils.save_img(tmp_path / name / "0.png", np.zeros((8, 8, 3)))
    photos = keras.utils.image_dataset_from_directory(tmp_path, shuffle=False, verbose=False)
    assert {stage.via for stage in tf_stages.walk(photos)} == {"image_dataset_from_directory"}
    places = {
        (stage.place.file, stage.place.line) for stage in tf_stages.walk(photos) if stage.place
    }
    assert len(places) == 1
    own = tf.data.TFRecordDataset(["a"]).map(lambda x: x).batch(2)
    assert {stage.via for stage in tf_stages.walk(own)} == {None}


def test_every_noted_call_exists(tf: Any) -> None:
    for name in (*TRANSFORMATIONS, *SOURCES):
        assert hasattr(tf.data.Dataset, name), f"tf.data.Dataset.{name} is gone"


def test_stages_are_the_users_calls_with_their_lines_and_settings(tf: Any) -> None:
    dataset = tf.data.Dataset.range(100).shuffle(50)
    dataset = dataset.map(lambda x: x * 2, num_parallel_calls=4)
    dataset = dataset.batch(10).prefetch(tf.data.AUTOTUNE)
    stages = tf_stages.walk(dataset)
    assert [s.op for s in stages] == ["prefetch", "batch", "map", "shuffle", "range"]
    assert stages[1].settings["batch_size"] == 10
    assert stages[3].settings["buffer_size"] == 50
    assert stages[2].parallel == 4
    assert all(s.place is not None and s.place.file == __file__ for s in stages)
    assert stages[1].place.line == stages[2].place.line + 1
    assert stages[3].reorders
    assert not stages[2].random


def test_sources_of_several_branches_are_all_found(tf: Any) -> None:
    one, two = tf.data.Dataset.range(10), tf.data.Dataset.range(10).map(lambda x: x + 1)
    zipped = tf.data.Dataset.zip((one, two)).batch(2)
    assert [s.op for s in tf_stages.walk(zipped)] == ["batch", "zip", "range", "map", "range"]
    both = one.concatenate(two)
    assert [s.op for s in tf_stages.walk(both)] == ["concatenate", "range", "map", "range"]
    mixed = tf.data.Dataset.sample_from_datasets([one, two])
    assert tf_stages.walk(mixed)[0].random


def test_what_a_function_does_is_told_from_its_ops(tf: Any) -> None:
    base = tf.data.Dataset.range(10)

    def augment(x: Any) -> Any:
        return tf.image.random_flip_left_right(tf.zeros((4, 4, 3)) + tf.cast(x, tf.float32))

    def python(x: Any) -> Any:
        return tf.numpy_function(lambda v: v, [x], tf.int64)

    def branch(x: Any) -> Any:
        return tf.cond(x > 5, lambda: tf.random.uniform(()), lambda: 0.0)

    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer([1, 2], [3, 4], tf.int64, tf.int64), -1
    )
    plain, looked_up = base.map(lambda x: x + 1), base.map(table.lookup)
    random, nested, py = base.map(augment), base.map(branch), base.map(python)
    assert [tf_stages.walk(d)[0].random for d in (plain, looked_up, random, nested, py)] == [
        False,
        False,
        True,
        True,
        False,
    ]
    assert [tf_stages.walk(d)[0].python for d in (plain, random, py)] == [False, False, True]


def test_a_stage_replaced_keeps_the_rest_of_the_pipeline(tf: Any) -> None:
    mapped = tf.data.Dataset.range(6).map(lambda x: x * 10)
    dataset = mapped.batch(2)
    changed = substituted(dataset, mapped, mapped.map(lambda x: x + 1))
    assert values(changed) == [[1, 11], [21, 31], [41, 51]]
    assert values(dataset) == [[0, 10], [20, 30], [40, 50]]


def test_what_apply_made_is_noted_and_moved(tf: Any) -> None:
    source = tf.data.Dataset.range(4)
    counted = source.apply(tf.data.experimental.assert_cardinality(4)).batch(2)
    assert [s.op for s in tf_stages.walk(counted)] == ["batch", "AssertCardinalityDataset", "range"]
    changed = substituted(counted, source, source.map(lambda x: x + 1))
    assert values(changed) == [[1, 2], [3, 4]]
    plain = source.apply(lambda d: d.map(lambda x: x * 2))
    assert [s.op for s in tf_stages.walk(plain)] == ["map", "range"]


def test_zipped_branches_can_be_replaced(tf: Any) -> None:
    left, right = tf.data.Dataset.range(3), tf.data.Dataset.range(3)
    zipped = tf.data.Dataset.zip((left, right))
    changed = substituted(zipped, right, right.map(lambda x: -x))
    assert [(int(a), int(b)) for a, b in changed] == [(0, 0), (1, -1), (2, -2)]


def test_batching_first_moves_all_maps_and_checks_the_numbers(tf: Any) -> None:
    dataset = (
        tf.data.Dataset.range(20).map(lambda x: x * 2).shuffle(20, seed=1).map(lambda x: x + 1)
    ).batch(5)
    stages = tf_stages.walk(dataset)
    changed, batch, maps = tf_edits.maps_after_batch(dataset, stages)
    assert [s.op for s in tf_stages.walk(changed)] == ["map", "map", "batch", "shuffle", "range"]
    assert rows_of(changed) == [2 * x + 1 for x in range(20)]
    assert tf_edits.batched_either_way(batch, maps, tf.data.Dataset.range(20)).same


def test_batches_are_compared_on_the_same_elements_of_a_shuffle(tf: Any) -> None:
    dataset = tf.data.Dataset.range(200).shuffle(200).map(lambda x: x * 2).batch(5)
    stages = tf_stages.walk(dataset)
    _, batch, maps = tf_edits.maps_after_batch(dataset, stages)
    source = stages[maps[-1].inputs[0]].dataset
    assert tf_edits.batched_either_way(batch, maps, source).same


def test_rounding_apart_is_close_and_not_the_same(tf: Any) -> None:
    def mean(x: Any) -> Any:
        # A constant of the number of rows stands for what vector units round differently.
        return tf.cast(x, tf.float32) + 1e-6 * tf.cast(tf.rank(x), tf.float32)

    dataset = tf.data.Dataset.range(20).map(mean).batch(5)
    stages = tf_stages.walk(dataset)
    _, batch, maps = tf_edits.maps_after_batch(dataset, stages)
    agreed = tf_edits.batched_either_way(batch, maps, tf.data.Dataset.range(20))
    assert (agreed.same, agreed.close) == (False, True)


def test_a_function_of_single_elements_is_found_out(tf: Any) -> None:
    dataset = tf.data.Dataset.range(20).map(lambda x: tf.reduce_sum(x) + 0 * x).batch(5)
    stages = tf_stages.walk(dataset)
    _, batch, maps = tf_edits.maps_after_batch(dataset, stages)
    assert not tf_edits.batched_either_way(batch, maps, tf.data.Dataset.range(20)).close


def test_random_maps_are_not_batched_first(tf: Any) -> None:
    dataset = tf.data.Dataset.range(20).map(lambda x: tf.random.uniform(()) + 0.0).batch(5)
    with pytest.raises(tf_edits.NotApplicable):
        tf_edits.maps_after_batch(dataset, tf_stages.walk(dataset))


def test_a_shuffle_and_a_skip_move_before_the_maps(tf: Any) -> None:
    mapped = tf.data.Dataset.range(20).map(lambda x: x + 100)
    late = mapped.shuffle(20).batch(4)
    early, _ = tf_edits.shuffled_early(late, tf_stages.walk(late))
    assert [s.op for s in tf_stages.walk(early)] == ["batch", "map", "shuffle", "range"]
    assert rows_of(early) == [x + 100 for x in range(20)]
    rest = mapped.skip(15).batch(5)
    split, _ = tf_edits.skipped_early(rest, tf_stages.walk(rest))
    assert values(split) == values(rest)
    assert [s.op for s in tf_stages.walk(split)] == ["batch", "map", "skip", "range"]


def test_parallel_calls_keep_the_order(tf: Any) -> None:
    dataset = tf.data.Dataset.range(32).map(lambda x: x + 1).batch(4)
    changed = tf_edits.with_reads(dataset, tf_stages.walk(dataset), 8)
    assert values(changed) == values(dataset)
    assert changed.options().threading.private_threadpool_size == 8


def test_a_generator_object_is_never_read_by_a_probe(tf: Any) -> None:
    def rows() -> Iterator[int]:
        yield from range(5)

    spec = tf.TensorSpec((), tf.int64)
    once = rows()
    handed_out = tf.data.Dataset.from_generator(lambda: once, output_signature=spec).batch(2)
    made_anew = tf.data.Dataset.from_generator(rows, output_signature=spec).batch(2)
    a_list = tf.data.Dataset.from_generator(lambda: [1, 2], output_signature=spec)
    assert one_shot_source(handed_out)
    assert not one_shot_source(made_anew)
    assert not one_shot_source(a_list)
    assert list(once) == [0, 1, 2, 3, 4]
    assert generator_alone(tf_stages.walk(made_anew)[1].dataset).count == 5


@pytest.mark.measures
def test_ablation_finds_the_slow_stage(tf: Any) -> None:
    def slow(x: Any) -> Any:
        time.sleep(0.002)
        return x

    def wait(x: Any) -> Any:
        return tf.ensure_shape(tf.numpy_function(slow, [x], tf.int64), ())

    dataset = tf.data.Dataset.range(1000).map(wait).map(lambda x: x + 1).batch(8)
    bench = PipelineBench(dataset, Iterators())
    rows = {row.n: row for row in bench.ablation.run().rows}
    assert rows[0].per_batch == 1
    assert rows[2].per_batch == 8
    assert rows[2].own_ns > 3 * max(rows[n].own_ns for n in (0, 1, 3))
    assert ReadSideBySide().is_worth(bench)
    assert not MapInParallel().is_worth(bench)


def test_ablation_counts_what_filters_and_flat_maps_do(tf: Any) -> None:
    kept = tf.data.Dataset.range(1000).filter(lambda x: x % 4 == 0).batch(5)
    iterators = Iterators()
    ablation = Ablation(kept, iterators)
    ablation.run()
    assert ablation.per_batch[2] == pytest.approx(20, rel=0.1)
    spread = tf.data.Dataset.range(100).flat_map(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(10)
    )
    ablation = Ablation(spread.batch(20), iterators)
    ablation.run()
    assert ablation.per_batch[2] == pytest.approx(2, rel=0.1)


def test_stages_before_a_cache_are_not_timed(tf: Any) -> None:
    dataset = tf.data.Dataset.range(50).map(lambda x: x + 1).cache().batch(5)
    list(dataset)
    ablation = Ablation(dataset, Iterators())
    assert [row.n for row in ablation.run().rows] == [0, 1]


@pytest.mark.measures
def test_short_elements_are_timed_without_python(tf: Any) -> None:
    timing = time_dataset(tf.data.Dataset.range(10**9), Iterators(), seconds=0.3)
    # A pull from Python costs tens of microseconds; the range itself less than a few.
    assert timing.ns < 10_000
    assert timing.element_bytes == 8


def test_bytes_of_strings_and_structures(tf: Any) -> None:
    assert bytes_of(tf.constant(b"abc")) == 3
    assert bytes_of({"a": tf.zeros((2, 3)), "b": (tf.constant([b"x", b"yz"]),)}) == 27


def test_files_of_records_are_read_by_their_dataset(tf: Any, tmp_path: Path) -> None:
    names = []
    for number in range(30):
        names.append(str(tmp_path / f"{number}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as writer:
            writer.write(b"x" * 100)
    dataset = tf.data.TFRecordDataset(names).batch(4)
    source = tf_stages.walk(dataset)[-1]
    found = record_files(source, 1e6, Iterators())
    assert found.files == 30
    assert found.records_per_file == 1
    assert found.packed_record_ns > 0
    assert found.record_bytes == 100
    assert found.keeps_order is True


@pytest.mark.parametrize("shuffle", [True, False])
def test_files_listed_in_another_order_each_time_are_told(
    tf: Any, tmp_path: Any, shuffle: bool
) -> None:
    for number in range(3):
        with tf.io.TFRecordWriter(str(tmp_path / f"{number}.tfrecord")) as writer:
            writer.write(b"x")
    files = tf.data.Dataset.list_files(str(tmp_path / "*.tfrecord"), shuffle=shuffle)
    source = tf_stages.walk(tf.data.TFRecordDataset(files))[-1]
    assert record_files(source, 1e6, Iterators()).keeps_order is not shuffle


def bench_of(dataset: Any) -> PipelineBench:
    bench = PipelineBench(dataset, Iterators())
    bench.ablation.run()
    return bench


def decoded(tf: Any) -> Any:
    """Work that is the same in every pass and cannot be folded into a constant."""

    def work(x: Any) -> Any:
        square = tf.fill((120, 120), tf.cast(x, tf.float32))
        return tf.reduce_sum(tf.linalg.matmul(square, square))

    return work


@pytest.mark.measures
def test_a_shuffle_alone_is_not_worth_keeping(tf: Any) -> None:
    # Its own time is no work that a cache would save; a cache would freeze the order.
    dataset = tf.data.Dataset.range(20_000).shuffle(20_000).batch(64)
    assert not KeepInMemory().is_worth(bench_of(dataset))


@pytest.mark.measures
def test_a_shuffle_of_names_lies_before_the_cache(tf: Any) -> None:
    dataset = tf.data.Dataset.range(400).shuffle(400).map(decoded(tf)).batch(8)
    bench = bench_of(dataset)
    assert KeepInMemory().is_worth(bench)
    found = KeepInMemory().tried(bench)
    assert found.stage == 1
    assert found.keeps_order is False


@pytest.mark.measures
def test_a_shuffle_of_finished_elements_stays_behind_it(tf: Any) -> None:
    dataset = tf.data.Dataset.range(400).map(decoded(tf)).shuffle(400).batch(8)
    bench = bench_of(dataset)
    assert KeepInMemory().is_worth(bench)
    found = KeepInMemory().tried(bench)
    assert found.stage == 2
    assert found.keeps_order is True


@pytest.mark.measures
def test_batches_are_kept_where_only_batching_follows_the_work(tf: Any) -> None:
    dataset = tf.data.Dataset.range(400).map(decoded(tf)).batch(8).prefetch(2)
    bench = bench_of(dataset)
    assert KeepInMemory().is_worth(bench)
    found = KeepInMemory().tried(bench)
    assert (found.stage, found.work) == (1, 2)
    assert found.per_batch == 1


def in_python(tf: Any, number: Any) -> Any:
    """A map that works in Python, on what a function makes of an index."""

    def work(index: Any) -> Any:
        return np.float32(sum(int(index) * k for k in range(3000)) + number(int(index)))

    return lambda x: tf.numpy_function(work, [x], tf.float32)


@pytest.mark.parametrize(
    "number",
    [
        lambda index: np.random.default_rng().integers(0, 2),  # one in two is the same by chance
        lambda index: 0 * np.random.random(),  # drawn, if to no effect
        lambda index: 0 * random.random(),
    ],
    ids=["own generator", "numpy", "python"],
)
def test_python_that_draws_random_numbers_is_never_cached(tf: Any, number: Any) -> None:
    dataset = tf.data.Dataset.range(4000).map(in_python(tf, number)).batch(32)
    bench = bench_of(dataset)
    assert not KeepInMemory().is_worth(bench)
    assert KeepPythonInMemory().is_worth(bench)
    with pytest.raises(NotAvailable, match="two passes"):
        KeepPythonInMemory().tried(bench)


@pytest.mark.measures
def test_python_that_repeats_itself_may_be_cached(tf: Any) -> None:
    dataset = tf.data.Dataset.range(4000).map(in_python(tf, lambda index: 0)).batch(32)
    bench = bench_of(dataset)
    assert KeepPythonInMemory().is_worth(bench)
    found = KeepPythonInMemory().tried(bench)
    assert found.python is True
    assert found.keeps_order is True
    assert found.elements * found.per_batch in (125, 128_000)
    assert min(found.as_written) > 3 * max(found.ns)


def test_random_work_is_never_cached(tf: Any) -> None:
    dataset = (
        tf.data.Dataset.range(400)
        .shuffle(400)
        .map(lambda x: tf.random.uniform((200, 200)) @ tf.random.uniform((200, 200)))
        .batch(8)
    )
    assert not KeepInMemory().is_worth(bench_of(dataset))


def test_where_time_runs_out_the_whole_takes_as_long_as_what_it_hands_on(tf: Any) -> None:
    dataset = tf.data.Dataset.range(1000).map(lambda x: x + 1).batch(8).take(20).prefetch(1)
    iterators = Iterators()
    ablation = Ablation(dataset, iterators, budget_s=0.0)
    assert ablation.run().rows == ()  # nothing stands in for a batch that was not timed
    timing = time_dataset(dataset, iterators, seconds=0.05)
    ablation.times[2] = timing
    ablation.run()
    assert [stage.op for stage in ablation.stages[:3]] == ["prefetch", "take", "batch"]
    assert ablation.times[0] is ablation.times[1] is timing


def test_what_fits_in_memory_is_not_tried_on_disk(tf: Any) -> None:
    dataset = tf.data.Dataset.range(400).map(decoded(tf)).batch(8)
    assert not KeepOnDisk().is_worth(bench_of(dataset))


def test_what_outgrows_memory_is_tried_on_disk(
    tf: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".fitdoctor").mkdir()
    monkeypatch.setattr(cache_point, "available_bytes", lambda: 2_000)
    dataset = tf.data.Dataset.range(400).map(decoded(tf)).batch(8)
    bench = bench_of(dataset)
    assert KeepOnDisk().is_worth(bench)
    found = KeepOnDisk().tried(bench)
    assert (found.stage, found.elements, found.per_batch) == (1, 400, 8.0)
    assert found.element_bytes > 4
    assert found.write_ns > 0
    assert found.disk_ns > 0
    assert found.ns
    assert list((tmp_path / ".fitdoctor").iterdir()) == []
