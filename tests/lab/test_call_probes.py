"""What a fit pays at its start and at each validation."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from input_context import fit_context

from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.lab.probes.array_conversion import SMALLEST_BYTES, ConvertArrays
from fitdoctor.inside.lab.probes.validation_batches import ValidateInLargerBatches
from fitdoctor.inside.lab.probes.validation_passes import CountPasses
from fitdoctor.inside.lab.probes.validation_start import SplitBeforeMaps
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs import tf_stages

tf = pytest.importorskip("tensorflow")


# -- arrays ----------------------------------------------------------------------


def arrays(rows: int, dtype: str) -> Context:
    given = {"x": np.zeros((rows, 16), dtype), "y": np.zeros(rows, "int64")}
    return fit_context(kind="arrays", arguments=given)


def test_only_arrays_are_converted() -> None:
    assert not ConvertArrays().wanted(fit_context(kind="tf.data"))
    assert not ConvertArrays().wanted(fit_context())
    assert ConvertArrays().wanted(arrays(1, "float32"))


def test_small_arrays_do_not_matter() -> None:
    pytest.importorskip("keras")
    with pytest.raises(NotAvailable, match="too small"):
        ConvertArrays().run(arrays(100, "float64"))


def test_arrays_as_they_are_and_cast_before() -> None:
    pytest.importorskip("keras")
    rows = SMALLEST_BYTES // (16 * 8)
    found = ConvertArrays().run(arrays(rows, "float64"))
    assert found.bytes == rows * 17 * 8
    assert found.cast_bytes == rows * 16 * 8
    assert found.cast_arguments == ("x",)
    assert found.dtypes == ("float64", "int64")
    assert found.as_is_ns > 0
    assert found.per_epoch == 0


# -- validation ------------------------------------------------------------------


class Model:
    """Counts the batch sizes that it is evaluated at."""

    test_function: Any = "the user's"
    run_eagerly = False

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def evaluate(self, x: Any, y: Any, *, batch_size: int, verbose: int) -> None:
        assert self.test_function is None
        self.sizes.append(batch_size)


def validating(data: Any, *, model: Any = None, share: float = 0.5, **more: Any) -> Context:
    held: list[Any] = []
    backend = SimpleNamespace(name="tensorflow", hold_state=lambda *given: held.append(given))
    return fit_context(
        backend=backend,
        model=model or Model(),
        arguments={"validation_data": data, **more},
        validation=int(1000 * share),
        step_total=int(1000 * (1 - share)),
    )


def test_validation_that_takes_little_is_left_alone() -> None:
    data = (np.zeros((10, 2)), np.zeros(10))
    little = validating(data, share=0.09, validation_steps=3)
    assert not ValidateInLargerBatches().wanted(little)
    assert not CountPasses().wanted(little)
    much = validating(data, share=0.2, validation_steps=3)
    assert ValidateInLargerBatches().wanted(much)
    assert CountPasses().wanted(much)
    assert not CountPasses().wanted(validating(data))


def test_arrays_are_validated_at_sizes_well_above_their_own() -> None:
    model = Model()
    data = (np.zeros((10, 2)), np.zeros(10))
    found = ValidateInLargerBatches().run(validating(data, model=model, batch_size=200))
    assert (found.rows, found.batch_size, list(found.ns)) == (10, 200, ["1024"])
    assert set(model.sizes) == {1024}
    assert model.test_function == "the user's"


def test_validation_data_that_are_no_arrays() -> None:
    with pytest.raises(NotAvailable, match="not arrays"):
        ValidateInLargerBatches().run(validating(([1], [2])))


def test_a_loader_with_large_batches_is_left_alone() -> None:
    data = tf.data.Dataset.from_tensor_slices((np.zeros((600, 2)), np.zeros(600)))
    with pytest.raises(NotAvailable, match="large already"):
        ValidateInLargerBatches().run(validating(data.batch(64)))
    found = ValidateInLargerBatches().run(validating(data.batch(4)))
    assert (found.rows, found.batch_size, found.loader) == (600, 4, True)
    assert list(found.ns) == ["256"]  # as many rows as the largest size has there are not


def test_passes_of_a_repeated_set(watched: None) -> None:
    data = tf.data.Dataset.range(32).batch(4).repeat()
    assert CountPasses().run(validating(data, validation_steps=32)).batches == 8


# -- the first validation batch --------------------------------------------------


@pytest.fixture
def watched() -> Iterator[None]:
    import importlib

    recorder = Recorder(SimpleNamespace(write=lambda line: None))  # type: ignore[arg-type]
    tf_stages.watch_datasets(recorder, importlib.import_module(tf_stages.DATASET_MODULE))
    yield
    recorder.patches.undo()


def test_only_pipelines_that_can_be_read_again() -> None:
    probe = SplitBeforeMaps()
    assert not probe.wanted(validating(None))
    assert not probe.wanted(validating((np.zeros(2), np.zeros(2))))
    assert probe.wanted(validating(tf.data.Dataset.range(4)))


def test_a_pipeline_without_a_split_is_left_alone(watched: None) -> None:
    with pytest.raises(NotAvailable, match="no skip"):
        SplitBeforeMaps().run(validating(tf.data.Dataset.range(8).map(lambda x: x).batch(2)))


def test_the_split_before_the_maps(watched: None) -> None:
    data = tf.data.Dataset.range(40).map(lambda x: x + 1).skip(20).batch(2)
    context = validating(data)
    found = SplitBeforeMaps().run(context)
    assert found.skipped == 20
    assert found.file == __file__
    assert len(found.maps) == 1
    assert 0 < found.first_ns <= found.pass_ns
    assert 0 < found.early_first_ns <= found.early_pass_ns
    context.close()
