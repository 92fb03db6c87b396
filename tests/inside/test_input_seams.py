"""Private names that the seams of the input touch: each test fails when one of them goes away."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fitdoctor.inside.seams.backends.tensorflow import TensorFlowBackend, first_generator_batch
from fitdoctor.inside.seams.inputs.describe import describe_input
from fitdoctor.inside.seams.inputs.generators import timed_generator
from fitdoctor.inside.seams.inputs.keras_arrays import as_arrays, converted
from fitdoctor.inside.seams.inputs.loop_source import (
    describe_loop_source,
    fresh_loop_source,
    loop_source,
)
from fitdoctor.inside.seams.inputs.second_reader import (
    batches_with_threads,
    enqueued_batches,
    same_batch_again,
)
from fitdoctor.inside.seams.inputs.tf_pipeline import inputs_of
from fitdoctor.inside.seams.inputs.tf_stages import is_random
from fitdoctor.inside.seams.not_available import NotAvailable

tf = pytest.importorskip("tensorflow")
keras = pytest.importorskip("keras")

X, Y = np.arange(24, dtype="float32").reshape(8, 3), np.arange(8, dtype="float32")


def adapter(module: str, name: str, *given: Any, **more: Any) -> Any:
    found = importlib.import_module(f"keras.src.trainers.data_adapters.{module}")
    return getattr(found, name)(*given, **more)


def pipeline() -> Any:
    return tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)


def batches() -> Iterator[Any]:
    for start in (0, 4):
        yield X[start : start + 4], Y[start : start + 4]


class Rows(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]


# -- Keras's adapters ------------------------------------------------------------


def test_the_dataset_of_a_tf_adapter() -> None:
    data = pipeline()
    found = adapter("tf_dataset_adapter", "TFDatasetAdapter", data)
    assert found._dataset is data
    facts = describe_input(found)
    assert facts.kind == "tf.data"
    assert len(facts.stages) == 2


def test_the_dataset_of_a_grain_adapter() -> None:
    grain = pytest.importorskip("grain")
    data = grain.MapDataset.source(list(X)).batch(4)
    found = adapter("grain_dataset_adapter", "GrainDatasetAdapter", data)
    assert found._dataset is not None
    facts = describe_input(found)
    assert facts.kind == "grain"
    assert [stage.op for stage in facts.stages][-2:] == ["batch", "source"]


def test_the_loader_of_a_torch_adapter() -> None:
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.from_numpy(X)), batch_size=4
    )
    found = adapter("torch_data_loader_adapter", "TorchDataLoaderAdapter", loader)
    assert found._dataloader is loader
    facts = describe_input(found)
    assert (facts.kind, facts.workers, facts.name) == ("DataLoader", 0, "TensorDataset")


def test_a_py_dataset_and_its_queue() -> None:
    plain = adapter("py_dataset_adapter", "PyDatasetAdapter", Rows())
    facts = describe_input(plain)
    assert (facts.kind, facts.name, facts.workers) == ("PyDataset", "Rows", 1)
    assert (facts.file, facts.line) == (__file__, Rows.__getitem__.__code__.co_firstlineno)
    assert enqueued_batches(plain) is None
    queued = adapter("py_dataset_adapter", "PyDatasetAdapter", Rows(workers=2))
    read = enqueued_batches(queued)
    assert read is not None
    assert len(list(read)) == 2
    assert len(list(batches_with_threads(plain, 2))) == 2
    assert plain.py_dataset.workers == 1
    again = same_batch_again(plain, "tensorflow", Rows()[0])
    np.testing.assert_array_equal(next(again)[0], X[:4])


def test_the_first_batches_of_a_generator() -> None:
    given = batches()
    found = adapter("generator_data_adapter", "GeneratorDataAdapter", given)
    assert describe_input(found, given).name == "batches"
    source = timed_generator(found)
    call: Any = SimpleNamespace(
        epoch_iterator=SimpleNamespace(data_adapter=found), source=source, arguments={"x": given}
    )
    first = first_generator_batch(call)
    assert first is not None, "GeneratorDataAdapter._first_batches is gone"
    np.testing.assert_array_equal(first[0], X[:4])
    assert len(list(found.get_numpy_iterator())) == 2
    assert source is not None
    assert source.count == 2, "the adapter does not read its attribute `generator` any more"


def test_the_dataset_that_an_epoch_reads() -> None:
    trainer = importlib.import_module("keras.src.backend.tensorflow.trainer")
    epoch = trainer.TFEpochIterator(x=pipeline(), distribute_strategy=tf.distribute.get_strategy())
    assert isinstance(epoch._distributed_dataset, tf.data.Dataset)
    call: Any = SimpleNamespace(epoch_iterator=epoch, source=None, arguments={}, last_batch=None)
    first = next(TensorFlowBackend().fresh_loader(call))
    np.testing.assert_array_equal(first[0], X[:4])


def test_an_epoch_whose_dataset_is_not_seen_says_so() -> None:
    found = adapter("tf_dataset_adapter", "TFDatasetAdapter", pipeline())
    call: Any = SimpleNamespace(
        epoch_iterator=SimpleNamespace(data_adapter=found), source=None, arguments={}
    )
    with pytest.raises(NotAvailable):
        TensorFlowBackend().fresh_loader(call)


def test_arrays_through_kerass_adapter() -> None:
    assert next(iter(converted("tensorflow", [X, Y])))[0].shape[1:] == (3,)
    source = tf.data.Dataset.from_tensor_slices((X, Y))
    read = next(iter(as_arrays(source, 4, shuffle=False)))
    np.testing.assert_array_equal(read[0], X[:4])
    with pytest.raises(NotAvailable):
        as_arrays(tf.data.Dataset.range(3), 4, shuffle=False)


# -- TensorFlow's datasets -------------------------------------------------------


def test_the_dataset_of_an_iterator() -> None:
    data = pipeline()
    loop: Any = SimpleNamespace(marker="tf.data", loader=iter(data))
    assert loop_source(loop) is data
    assert describe_loop_source(loop).kind == "tf.data"
    np.testing.assert_array_equal(next(fresh_loop_source(loop))[0], X[:4])


def test_the_files_of_a_record_dataset(tmp_path: Path) -> None:
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(b"x")
    names = tf.data.TFRecordDataset([path])._filenames
    assert [one.decode() for one in names.as_numpy_iterator()] == [path]
    assert inputs_of(tf.data.TFRecordDataset([path])) == ()


def test_inputs_and_functions_of_a_dataset() -> None:
    source = tf.data.Dataset.range(3)
    mapped = source.map(lambda x: tf.random.uniform(()) + tf.cast(x, tf.float32))
    assert inputs_of(mapped) == (source,)
    assert is_random(mapped)
    assert not is_random(source.map(lambda x: x + 1))
