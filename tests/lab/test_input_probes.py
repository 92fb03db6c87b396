"""Facts of the input, the loader alone, and files and layers that make loading slow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from input_context import alone, fit_context

from fitdoctor.contract.evidence.loading import AugmentationInLoader, GeneratorInPlace
from fitdoctor.inside.lab.apparatus.windows import Patience, measuring_with
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Subject
from fitdoctor.inside.lab.probes import host_augmentation, loader_alone
from fitdoctor.inside.lab.probes.generator_in_place import TimesInPlace
from fitdoctor.inside.lab.probes.hdf5_reads import ReadRowsAgain
from fitdoctor.inside.lab.probes.host_augmentation import AugmentInLoader, AugmentInModel
from fitdoctor.inside.lab.probes.input_facts import DescribeInput
from fitdoctor.inside.lab.probes.loader_alone import ReadAlone
from fitdoctor.inside.seams.inputs.generators import TimedSource
from fitdoctor.inside.seams.inputs.hdf5 import DatasetReads


def test_what_was_not_seen_is_not_described() -> None:
    with pytest.raises(NotAvailable, match="not seen"):
        DescribeInput().run(fit_context())
    adapter = type("ArrayDataAdapter", (), {})()
    assert DescribeInput().run(fit_context(adapter=adapter)).kind == "arrays"


def test_a_loop_without_a_loader_says_so() -> None:
    context = fit_context()
    context.loop = SimpleNamespace(marker="DataLoader", loader=None)  # type: ignore[assignment]
    with pytest.raises(NotAvailable, match="no loader"):
        DescribeInput().run(context)
    assert Subject.LOOP in DescribeInput.subjects


def test_only_a_generator_is_timed_in_place() -> None:
    assert not TimesInPlace().wanted(fit_context())
    source = TimedSource()
    context = fit_context(source=source)
    assert TimesInPlace().wanted(context)
    with pytest.raises(NotAvailable):
        TimesInPlace().run(context)
    source.count, source.wall_ns, source.cpu_ns = 4, 80, 60
    assert TimesInPlace().run(context) == GeneratorInPlace(4, 80, 60)


# -- the loader alone ------------------------------------------------------------


def test_the_loader_is_read_alone_where_a_step_takes_longer_than_frozen() -> None:
    assert not ReadAlone().wanted(fit_context(step_ms=100, period_ms=102))
    assert ReadAlone().wanted(fit_context(step_ms=100, period_ms=104))
    assert ReadAlone().wanted(fit_context(step_ms=None))
    eager = SimpleNamespace(run_eagerly=True)
    assert ReadAlone().wanted(fit_context(step_ms=100, period_ms=102, model=eager))


def test_a_loader_read_alone() -> None:
    batch = (np.zeros((4, 2), "float32"), np.zeros(4, "int64"))

    def fresh() -> Iterator[Any]:
        return iter([batch] * 10)

    with measuring_with(Patience(0.0)):
        found = loader_alone.loader_alone(fresh, seconds=0.05, sampled_seconds=0.05)
    assert found.shapes == ("float32[4, 2]", "int64[4]")
    assert found.bytes == 64
    assert found.passes > 1
    assert found.stacks is not None


def test_the_probe_reads_what_the_backend_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loader_alone, "loader_alone", lambda fresh: list(fresh()))
    backend = SimpleNamespace(name="jax", fresh_loader=lambda call: iter([call.steps]))
    assert ReadAlone().run(fit_context(backend=backend)) == [100]  # type: ignore[comparison-overlap]


# -- HDF5 ------------------------------------------------------------------------


def test_hdf5_files_are_read_again_where_loading_is_slow(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = str(tmp_path / "data.h5")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.zeros((100, 2)))
    reads = DatasetReads(path, "/x", None, count=200, ns=2000, rows=400)
    slow, fast = fit_context(alone(80)), fit_context(alone(1))
    assert not ReadRowsAgain().wanted(slow)
    with pytest.raises(NotAvailable):
        ReadRowsAgain().run(slow)
    slow.hdf5.by_dataset[path, "/x"] = fast.hdf5.by_dataset[path, "/x"] = reads
    assert not ReadRowsAgain().wanted(fast)
    assert ReadRowsAgain().wanted(slow)
    slow.arguments = (1,)  # the call is running: its 100 steps are not in the line's total
    found = ReadRowsAgain().run(slow)
    assert (found.rows, found.reads_per_batch, found.ns) == (4, 2.0, 20)


# -- augmentation ----------------------------------------------------------------


def on_gpu(monkeypatch: pytest.MonkeyPatch, kind: str = "gpu") -> None:
    facts = SimpleNamespace(kind=kind)
    monkeypatch.setattr("fitdoctor.inside.lab.context.device_facts", lambda _: facts)


def test_augmentation_is_looked_for_where_a_gpu_could_do_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow = fit_context(alone(80), kind="PyDataset", adapter=object())
    on_gpu(monkeypatch, "cpu")
    assert not AugmentInLoader().wanted(slow)
    on_gpu(monkeypatch)
    assert not AugmentInLoader().wanted(fit_context(alone(80), kind="tf.data", adapter=object()))
    assert AugmentInLoader().wanted(slow)


def augmenting(layer: Any) -> Context:
    class Data:
        num_batches = 2

        def __getitem__(self, _: int) -> Any:
            return layer(np.ones((1, 4, 4, 3), "float32"))

    backend = SimpleNamespace(name="tensorflow", wait_for=lambda value: None)
    adapter = SimpleNamespace(py_dataset=Data())
    return fit_context(alone(80), kind="PyDataset", adapter=adapter, backend=backend)


def test_layers_without_random_numbers_are_no_augmentation() -> None:
    keras = pytest.importorskip("keras")
    with pytest.raises(NotAvailable, match="no augmentation"):
        AugmentInLoader().run(augmenting(keras.layers.Rescaling(2.0)))


def test_random_layers_of_the_loader_are_tried_in_the_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keras = pytest.importorskip("keras")
    context = augmenting(keras.layers.RandomFlip())
    assert not AugmentInModel().wanted(context)
    found = AugmentInLoader().run(context)
    assert found.layers == ("RandomFlip",)
    assert 0 < found.share <= 1
    context.keep(found, "augmentation")
    assert not AugmentInModel().wanted(context)  # without a frozen batch
    context.batch = (np.ones((1, 4, 4, 3)), np.ones(1))
    assert AugmentInModel().wanted(context)
    monkeypatch.setattr(host_augmentation, "step_under", lambda *_: {"ns": (1.0,)})
    monkeypatch.setattr(host_augmentation, "with_layers_in_front", lambda _, layers: layers)
    assert AugmentInModel().name == "step_augmented"
    assert AugmentInModel().run(context).ns == (1.0,)


def test_a_model_with_several_inputs_is_not_augmented() -> None:
    pytest.importorskip("keras")
    x = {"a": np.ones((1, 2)), "b": np.ones((1, 2))}
    context = fit_context(AugmentationInLoader(1, 1, 1.0), batch=(x, np.ones(1)))
    with pytest.raises(NotAvailable, match="several inputs"):
        AugmentInModel().run(context)
