"""Calls that are changed on their way, with classes that stand for the frameworks'."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from fitdoctor.contract.changed_calls import ChangedCall, Seam
from fitdoctor.inside.cures import call_changes
from fitdoctor.inside.import_hooks import ImportHooks
from fitdoctor.inside.patches import Patches


class Model:
    def compile(self, optimizer="rmsprop", *, jit_compile="auto", run_eagerly=False):
        return optimizer, jit_compile, run_eagerly

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None):
        return "predict", x

    def predict_on_batch(self, x):
        return "predict_on_batch", x


class PyDataset:
    def __init__(self, workers=1, use_multiprocessing=False):
        self.workers = workers


class Dataset:
    def __init__(self, *done: str) -> None:
        self.done = done

    def map(self, function, num_parallel_calls=None, **more):
        return Dataset(*self.done, f"map {num_parallel_calls} {more}")

    def cache(self):
        return Dataset(*self.done, "cache")

    def with_options(self, options):
        return Dataset(*self.done, f"pool {options.threading.private_threadpool_size}")


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch):
    """Install changes of lines of this file; the patches are undone afterwards."""
    keras, tensorflow = ModuleType("keras"), ModuleType("tensorflow")
    keras.Model, keras.utils = Model, SimpleNamespace(PyDataset=PyDataset)
    options = SimpleNamespace(threading=SimpleNamespace(private_threadpool_size=None))
    tensorflow.data = SimpleNamespace(Dataset=Dataset, Options=lambda: options)
    monkeypatch.setitem(sys.modules, "keras", keras)
    monkeypatch.setitem(sys.modules, "tensorflow", tensorflow)
    patches = Patches()

    def install(line: int, seam: Seam, call: str, **change: Any) -> None:
        changed = ChangedCall(__file__, line, seam, call, **change)

        def failed(name: str, error: BaseException) -> None:
            raise error

        call_changes.install(ImportHooks(failed), patches, [changed])

    yield install
    patches.undo()
    assert "compile" in vars(Model)


def here() -> int:
    return sys._getframe(1).f_lineno


def test_other_lines_stay_as_they_are(changed) -> None:
    changed(here() + 100, "model", "compile", set={"jit_compile": False})
    assert Model().compile("adam") == ("adam", "auto", False)


def test_a_wrong_call_fails_with_its_own_words(changed) -> None:
    changed(here() + 2, "model", "compile", set={"jit_compile": False})
    with pytest.raises(TypeError, match="nonsense"):
        Model().compile(nonsense=1)


def test_arguments_are_set_and_dropped(changed) -> None:
    settings = {"run_eagerly": True, "jit_compile": True}
    changed(here() + 2, "model", "compile", set={"jit_compile": False})
    changed(here() + 1, "model", "compile", drop=("run_eagerly",))
    assert Model().compile("adam", **settings) == ("adam", False, False)
    assert Model().compile("adam", **settings) == ("adam", True, True)


def test_another_method_where_it_is_the_same_call(changed) -> None:
    change = {"instead": "predict_on_batch", "takes": ("x",), "ignores": ("verbose", "batch_size")}
    changed(here() + 1, "model", "predict", **change)
    found = [Model().predict(1, verbose=0), Model().predict(1, callbacks=[2])]
    assert found == [("predict_on_batch", 1), ("predict", 1)]


class Rows(PyDataset):
    def __init__(self, size, **kwargs):
        super().__init__(**kwargs)
        self.size = size


def test_a_dataset_class_of_the_users(changed) -> None:
    changed(here() + 1, "py_dataset", "PyDataset", set={"workers": 4})
    assert Rows(3, workers=1).workers == 4
    assert Rows(3).workers == 1
    # Its own __init__ is where the options are given, wherever it is made.
    changed(
        Rows.__init__.__code__.co_firstlineno + 1, "py_dataset", "PyDataset", set={"workers": 2}
    )
    assert Rows(5).workers == 2


def test_stages_of_a_pipeline(changed) -> None:
    pool = {"threading.private_threadpool_size": 16}
    changed(
        here() + 7,
        "dataset",
        "map",
        set={"num_parallel_calls": 16},
        cache=True,
        options=pool,
    )
    assert Dataset().map(len).done == ("map 16 {}", "cache", "pool 16")
    assert Dataset().map(len).done == ("map None {}",)
