"""Which changes of a pipeline are worth a trial, by the cost of its stages; and the trials."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from input_context import alone, bench, fit_context, stage

from fitdoctor.contract.evidence.pipeline import StageTimes
from fitdoctor.inside.lab.apparatus import dataset_timing, windows
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators
from fitdoctor.inside.lab.apparatus.pipeline_bench import PipelineBench, pipeline_bench
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Subject
from fitdoctor.inside.lab.probes.as_arrays import PickAsKeras
from fitdoctor.inside.lab.probes.batch_first import MapWholeBatches
from fitdoctor.inside.lab.probes.cached import KeepInMemory, KeepPythonInMemory
from fitdoctor.inside.lab.probes.early_stages import ShuffleFirst, SkipFirst
from fitdoctor.inside.lab.probes.generator_alone import ReadGenerator
from fitdoctor.inside.lab.probes.in_chunks import CrossInChunks
from fitdoctor.inside.lab.probes.more_reads import READS, ReadSideBySide
from fitdoctor.inside.lab.probes.parallel_map import MapInParallel
from fitdoctor.inside.lab.probes.record_files import PackRecords
from fitdoctor.inside.lab.probes.stages import TimeStages
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs import tf_stages

tf = pytest.importorskip("tensorflow")
BENCHES: list[PipelineBench] = []


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    recorder = Recorder(SimpleNamespace(write=lambda line: None))  # type: ignore[arg-type]
    tf_stages.watch_datasets(recorder, importlib.import_module(tf_stages.DATASET_MODULE))
    yield
    recorder.patches.undo()


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing here judges a time, so a moment of each is enough."""

    def measure(work: Any, *, units: int, **_: float) -> windows.Windows:
        return windows.measure(work, seconds=0.02, units=units, window_s=0.005)

    monkeypatch.setattr(dataset_timing, "CALIBRATION_S", 0.02)
    monkeypatch.setattr(dataset_timing, "measure", measure)
    with windows.measuring_with(windows.Patience(0.0)):
        yield
    while BENCHES:
        BENCHES.pop(0).iterators.close()


def rows(count: int = 400) -> Any:
    return tf.data.Dataset.range(count)


def pipeline_context(dataset: Any) -> Context:
    adapter = SimpleNamespace(_dataset=dataset)
    return fit_context(alone(80), kind="tf.data", adapter=adapter)


def timed(dataset: Any) -> PipelineBench:
    found = PipelineBench(dataset, Iterators())
    BENCHES.append(found)
    found.ablation.run()
    return found


# -- when ------------------------------------------------------------------------


def test_no_trial_before_the_stages_were_timed() -> None:
    context = pipeline_context(rows().map(lambda x: x).batch(8))
    assert TimeStages().wanted(context)
    assert not MapWholeBatches().wanted(context)
    context.keep(StageTimes(), "stages")
    assert not MapWholeBatches().wanted(context)  # the whole pipeline was not timed
    found = pipeline_bench(context)
    assert found is not None
    found.ablation.run()
    assert MapWholeBatches().wanted(context)


def test_no_stages_of_other_data_or_fast_loaders() -> None:
    assert not TimeStages().wanted(fit_context(alone(80), kind="PyDataset", adapter=object()))
    fast = fit_context(alone(1), kind="tf.data", adapter=SimpleNamespace(_dataset=rows()))
    assert not TimeStages().wanted(fast)
    with pytest.raises(NotAvailable):
        TimeStages().run(fast)
    with pytest.raises(NotAvailable):
        MapWholeBatches().run(fast)


def test_a_generator_that_can_be_read_once_is_left_alone() -> None:
    once = iter([1, 2])
    spec = tf.TensorSpec((), tf.int64)
    data = tf.data.Dataset.from_generator(lambda: once, output_signature=spec).batch(2)
    assert not TimeStages().wanted(pipeline_context(data))
    assert list(once) == [1, 2]


def test_stages_of_grain() -> None:
    grain = pytest.importorskip("grain")
    data = grain.MapDataset.source([1, 2, 3, 4]).batch(2)
    context = fit_context(alone(80), kind="grain", adapter=SimpleNamespace(_dataset=data))
    assert TimeStages().wanted(context)
    assert not MapWholeBatches().wanted(context)
    assert [row.n for row in TimeStages().run(context).rows] == [0, 1]


def test_a_loop_over_a_pipeline_is_probed_once_its_loader_was_timed() -> None:
    data = rows().batch(4)
    context = fit_context(step_ms=None)
    context.call, context.subject = None, Subject.LOOP
    context.loop = SimpleNamespace(  # type: ignore[assignment]
        marker="tf.data", loader=iter(data)
    )
    assert not TimeStages().wanted(context)
    context = Context(
        recorder=context.recorder,
        backend=context.backend,
        subject=Subject.LOOP,
        workload=context.workload,
        loop=context.loop,
    )
    context.keep(alone(5), "loader_alone")
    assert TimeStages().wanted(context)
    found = pipeline_bench(context)
    assert found is not None
    assert found.dataset is data
    assert Subject.LOOP in MapWholeBatches.subjects
    assert pipeline_bench(context) is found
    context.close()


def test_iterators_stay_open_until_the_context_is_closed() -> None:
    context = pipeline_context(rows().batch(4))
    found = pipeline_bench(context)
    assert found is not None
    found.iterators.open(found.dataset)
    assert found.iterators._kept
    context.close()
    assert not found.iterators._kept


@pytest.mark.parametrize(
    ("probe", "silent", "firing"),
    [
        (
            ReadSideBySide(),
            bench("batch", "map", "range", ms={0: 10}, cores=0.9),
            bench("batch", "map", "range", ms={0: 10}, cores=0.2),
        ),
        (
            ReadSideBySide(),
            bench("batch", "TFRecordDataset", ms={0: 10}, cores=0.2),
            bench("batch", "interleave", "range", ms={0: 10}, cores=0.2),
        ),
        (
            KeepInMemory(),
            bench("batch", "map", "range", ms={0: 10, 1: 1, 2: 0.5}),
            bench("batch", "map", "range", ms={0: 10, 1: 9, 2: 1}),
        ),
        (
            KeepInMemory(),
            bench("batch", stage("map", random=True), "range", ms={0: 10, 1: 9, 2: 1}),
            bench("batch", "shuffle", "map", "range", ms={0: 10, 1: 9, 2: 9, 3: 1}),
        ),
        (
            KeepPythonInMemory(),
            bench("batch", "map", "range", ms={0: 10, 1: 9, 2: 1}),
            bench("batch", stage("map", python=True), "range", ms={0: 10, 1: 9, 2: 1}),
        ),
        (
            MapWholeBatches(),
            bench(stage("batch", batch_size=4), "map", "range", ms={0: 4, 1: 3}),
            bench(stage("batch", batch_size=4), "map", "range", ms={0: 1, 1: 0.5}),
        ),
        (
            MapWholeBatches(),
            bench(stage("batch", batch_size=2), "map", "range", ms={0: 0.1}),
            bench(stage("batch", batch_size=64), "map", "range", ms={0: 0.1}),
        ),
        (
            MapInParallel(),
            bench("batch", stage("map", random=True, parallel=-1), "range", ms={0: 10, 1: 9, 2: 0}),
            bench("batch", stage("map", random=True), "range", ms={0: 10, 1: 9, 2: 0}),
        ),
        (
            MapInParallel(),
            bench("batch", stage("map", random=True), "range", ms={0: 10, 1: 2, 2: 1.5}),
            bench("batch", stage("map", random=True), "range", ms={0: 10, 1: 2, 2: 1.0}),
        ),
        (
            ShuffleFirst(),
            bench("batch", stage("shuffle", buffer_size=40), "map", ms={0: 9, 1: 1, 2: 1}),
            bench("batch", stage("shuffle", buffer_size=60), "map", ms={0: 9, 1: 1, 2: 1}),
        ),
        (
            SkipFirst(),
            bench("batch", stage("skip", count=60), "range", ms={0: 9, 1: 1, 2: 1}),
            bench("batch", stage("skip", count=60), "map", "range", ms={0: 9, 1: 1, 2: 1}),
        ),
        (
            SkipFirst(),
            bench("batch", stage("skip", count=40), "map", "range", ms={0: 9, 1: 1, 2: 1}),
            bench("batch", stage("skip", count=50), "map", "range", ms={0: 9, 1: 1, 2: 1}),
        ),
        (
            CrossInChunks(),
            bench("batch", "from_generator", ms={0: 9, 1: 8}, per_batch={1: 2.0}),
            bench("batch", "from_generator", ms={0: 9, 1: 8}, per_batch={1: 32.0}),
        ),
        (
            CrossInChunks(),
            bench("batch", "from_generator", ms={0: 9, 1: 0.5}, per_batch={1: 32.0}),
            bench("batch", "from_generator", ms={0: 9, 1: 0.9}, per_batch={1: 32.0}),
        ),
        (
            PickAsKeras(),
            bench("batch", "map", "from_tensor_slices", ms={0: 9}),
            bench("prefetch", "batch", "shuffle", "from_tensor_slices", ms={0: 9}),
        ),
        (
            PickAsKeras(),
            bench("batch", "range", ms={0: 9}),
            bench("batch", "from_tensor_slices", ms={0: 9}),
        ),
        (
            ReadGenerator(),
            bench("batch", "from_generator", ms={0: 9}),
            bench("batch", "from_generator", ms={0: 9, 1: 1}),
        ),
        (
            PackRecords(),
            bench("batch", "range", ms={0: 9, 1: 8}),
            bench("batch", "TFRecordDatasetV2", ms={0: 9, 1: 8}),
        ),
    ],
)
def test_worth_a_trial(probe: Any, silent: PipelineBench, firing: PipelineBench) -> None:
    assert not probe.is_worth(silent)
    assert probe.is_worth(firing)


# -- the trials, on real pipelines -----------------------------------------------


def test_more_reads_are_at_least_those_asked_for() -> None:
    found = ReadSideBySide().tried(timed(rows().map(lambda x: x + 1).batch(4)))
    assert found.reads == READS
    assert found.ns
    assert found.as_written
    asked = timed(rows().map(lambda x: x + 1, num_parallel_calls=20).batch(4))
    assert ReadSideBySide().tried(asked).reads == 20


def test_maps_of_whole_batches_are_compared() -> None:
    found = MapWholeBatches().tried(timed(rows().map(lambda x: x * 2).batch(4)))
    assert (found.stage, found.same, found.close) == (1, True, True)
    with pytest.raises(NotAvailable):
        MapWholeBatches().tried(timed(rows().batch(4)))


def test_random_maps_in_parallel() -> None:
    data = rows().map(lambda x: tf.random.uniform(()) + tf.cast(x, tf.float32)).batch(4)
    found = MapInParallel().tried(timed(data))
    assert found.stage == 1
    assert found.ns


def test_passes_with_the_shuffle_and_the_skip_first() -> None:
    mapped = rows(40).map(lambda x: x + 1)
    shuffled = ShuffleFirst().tried(timed(mapped.shuffle(40).batch(4)))
    assert shuffled.stage == 1
    assert (shuffled.changed.batches, shuffled.as_written.batches) == (10, 10)
    assert shuffled.changed.whole
    skipped = SkipFirst().tried(timed(mapped.skip(20).batch(4)))
    assert (skipped.skipped, skipped.random, skipped.changed.batches) == (20, False, 5)
    assert [place.file for place in skipped.maps if place is not None] == [__file__]


def test_rows_of_a_generator_in_chunks() -> None:
    def numbers() -> Iterator[int]:
        yield from range(200)

    spec = tf.TensorSpec((), tf.int64)
    data = tf.data.Dataset.from_generator(numbers, output_signature=spec).batch(16)
    found = timed(data)
    assert CrossInChunks().is_worth(found)
    tried = CrossInChunks().tried(found)
    assert (tried.stage, tried.repeats) == (1, True)
    alone_found = ReadGenerator().tried(found)
    assert alone_found.count == 200
    assert alone_found.file == __file__


def test_rows_of_arrays_as_keras_picks_them() -> None:
    pytest.importorskip("keras")
    x = np.ones((64, 3), "float32")
    found = PickAsKeras().tried(timed(tf.data.Dataset.from_tensor_slices((x, x)).batch(8)))
    assert (found.stage, found.source) == (0, 1)
    assert found.ns


def test_records_in_one_file(tmp_path: Any) -> None:
    names = []
    for number in range(3):
        names.append(str(tmp_path / f"{number}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as writer:
            writer.write(b"x" * 10)
    found = PackRecords().tried(timed(tf.data.TFRecordDataset(names).batch(3)))
    assert (found.files, found.records_per_file, found.record_bytes) == (3, 1, 10)


@pytest.mark.parametrize("probe", [ReadGenerator(), PackRecords()])
def test_sources_that_are_not_there(probe: Any) -> None:
    with pytest.raises(NotAvailable):
        probe.tried(bench("batch", "range", ms={0: 9}))
