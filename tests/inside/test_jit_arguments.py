"""What is new to a jitted function: shapes, or Python values where no shape differs."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fitdoctor.inside.seams.watch.jit_arguments import arguments_of, changed


def step(state, x, y, rate=0.1):
    """Stands for a function of the user's."""


arguments = functools.partial(arguments_of, step.__code__)


def rows(count: int) -> np.ndarray:
    return np.zeros((8, count), "float32")


def test_nothing_is_new_to_the_same_call() -> None:
    call = arguments(([rows(3)], rows(20), None), {"rate": 0.1})
    assert changed(call, call) == ([], [])


def test_a_new_shape_is_told_and_the_state_beside_it_is_not() -> None:
    before = arguments(([rows(3), rows(4)], rows(20), rows(1)), {})
    now = arguments(([rows(3), rows(4)], rows(21), rows(1)), {})
    assert changed(before, now).shapes == ["float32[8, 21]"]


def test_a_value_beside_a_new_shape_did_not_cause_it() -> None:
    before = arguments((None, rows(20)), {"rate": 0.1})
    now = arguments((None, rows(21)), {"rate": 0.2})
    assert changed(before, now).values == []


def test_a_value_alone_is_told_by_its_parameters_name() -> None:
    before, now = (
        arguments((None, rows(2), None, 0.1), {}),
        arguments((None, rows(2), None, 0.2), {}),
    )
    assert changed(before, now) == ([], ["rate: 0.1 -> 0.2"])


def test_another_number_of_arguments_is_no_failure() -> None:
    before, now = (
        arguments(([rows(3)], rows(20)), {}),
        arguments(([rows(3), rows(5)], rows(20)), {}),
    )
    assert changed(before, now).shapes == ["float32[8, 5]"]


def test_more_arguments_than_parameters_have_numbers() -> None:
    last = arguments((None, 1, 2, 3, 4), {})[-1]
    assert (last.name, last.text) == ("argument 4", "4")


SCRIPT = """
import os
os.environ["KERAS_BACKEND"] = "jax"
import sys
import jax, keras, numpy as np

model = keras.Sequential([keras.Input((None, 4)), keras.layers.Conv1D(4, 3, padding="same"),
                          keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])

def loss(weights, x, scale):
    return keras.ops.mean(model.stateless_call(weights, [], x)[0]) * scale

static = (2,) if sys.argv[1] == "static" else ()
once = jax.jit(loss, static_argnums=static)
weights = [v.value for v in model.trainable_variables]
for i in range(8):
    x = np.ones((2, 10 + (i if sys.argv[1] == "shapes" else 0), 4), "float32")
    function = jax.jit(lambda w, x, s: loss(w, x, s)) if sys.argv[1] == "anew" else once
    function(weights, x, 1.0 + (i if sys.argv[1] == "static" else 0))
"""


@pytest.mark.end_to_end
@pytest.mark.parametrize("kind", ["shapes", "static", "anew"])
def test_each_compilation_of_a_loop_says_why(kind: str, tmp_path: Path) -> None:
    from fitdoctor.contract.reader import read_recording

    (tmp_path / "loop.py").write_text(SCRIPT)
    subprocess.run(
        [sys.executable, "-m", "fitdoctor", "run", "--no-probes", "loop.py", kind],
        cwd=tmp_path,
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        timeout=200,
        check=False,
    )
    (file,) = (tmp_path / ".fitdoctor").glob("*.rec")
    (loop,) = read_recording(file).workloads
    compiled = [e.detail for e in loop.events if e.name == "compile" and "loss" in e.detail.name]
    if kind == "anew":
        compiled = [e.detail for e in loop.events if "lambda" in (e.detail.name or "")]
        assert len(compiled) >= 5
        assert all(not one.shapes and not one.changed for one in compiled)
    elif kind == "shapes":
        assert [one.shapes for one in compiled][-2:] == [
            ("float32[2, 16, 4]",),
            ("float32[2, 17, 4]",),
        ]
    else:
        assert compiled[-1].changed == ("scale: 7.0 -> 8.0",)
    assert all(Path(one.file).name == "loop.py" for one in compiled)
    assert all(Path(one.called_from[0]).name == "loop.py" for one in compiled)
