"""The library's public names, and what they refuse; then one real diagnosis."""

from __future__ import annotations

import subprocess
import sys

import pytest

import fitdoctor
from fitdoctor.contract.errors import UsageError

DIAGNOSE = """
import os, time
os.environ["KERAS_BACKEND"] = "jax"
import keras, numpy as np, fitdoctor

class Slow(keras.utils.PyDataset):
    def __len__(self):
        return 20
    def __getitem__(self, index):
        time.sleep(0.05)
        return np.ones((4, 3), "float32"), np.ones((4, 1), "float32")

model = keras.Sequential([keras.layers.Input((3,)), keras.layers.Dense(1)])
model.compile("adam", "mse")
before = model.get_weights()
found = fitdoctor.diagnose(model, Slow(), budget_s=10)
assert found.workloads[0].verdict == "input-bound", found.workloads[0]
assert all((a == b).all() for a, b in zip(before, model.get_weights()))
assert "fitdoctor" not in type(model).fit.__code__.co_filename
model.fit(np.ones((8, 3)), np.ones((8, 1)), verbose=0)
print("diagnosed")
"""


def test_public_names_are_pinned() -> None:
    assert fitdoctor.__all__ == [
        "__version__",
        "diagnose",
        "from_generator",
        "load",
        "load_ipython_extension",
        "packed",
        "read_ahead",
        "speedup",
    ]
    with pytest.raises(AttributeError, match="no attribute 'cure'"):
        fitdoctor.cure  # noqa: B018


def test_importing_the_package_imports_nothing_else() -> None:
    code = (
        "import sys; before = set(sys.modules); import fitdoctor; print(set(sys.modules) - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(eval(done.stdout)) <= {"fitdoctor", "__future__"}


class Model:
    compiled = False
    built = False


def test_models_that_cannot_be_examined_are_refused() -> None:
    model = Model()
    with pytest.raises(UsageError, match="not compiled"):
        fitdoctor.diagnose(model, [])
    model.compiled = True
    with pytest.raises(UsageError, match="no weights"):
        fitdoctor.diagnose(model, [])
    model.built = True
    for budget in (0, -1, float("nan")):
        with pytest.raises(UsageError, match="training time"):
            fitdoctor.diagnose(model, [], budget_s=budget)


@pytest.mark.end_to_end
@pytest.mark.measures
def test_a_slow_loader_is_diagnosed_and_the_model_is_as_before() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DIAGNOSE], capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "diagnosed" in done.stdout
