"""Loops that keep what they train in lists of their own: compared by those, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitdoctor.proof.equivalence import Equivalence
from fitdoctor.proof.measured import Limits, Measured
from fitdoctor.proof.proving import Prover
from fitdoctor.proof.side import Side

pytestmark = pytest.mark.end_to_end

LOOP = """
import os
os.environ["KERAS_BACKEND"] = "jax"
import jax
import keras
import numpy as np

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD({rate})
optimizer.build(model.trainable_variables)
data = np.random.default_rng(1).normal(size=(8, 3)).astype("float32")


def loss(trainable, fixed, x):
    predicted, fixed = model.stateless_call(trainable, fixed, x)
    return (predicted**2).mean(), fixed


{decorator}
def step(state, x):
    trainable, fixed, slots = state
    (value, fixed), gradients = jax.value_and_grad(loss, has_aux=True)(trainable, fixed, x)
    {update}
    return value, (trainable, fixed, slots)


state = tuple(
    [v.value for v in variables]
    for variables in (
        model.trainable_variables, model.non_trainable_variables, optimizer.variables
    )
)
for number in range(200):
    value, state = step(state, data)
"""
KERAS = "trainable, slots = optimizer.stateless_apply(slots, gradients, trainable)"


def compared(folder: Path, a: dict[str, object], b: dict[str, object]) -> Equivalence:
    sides = []
    for name, changes in (("A", a), ("B", b)):
        path = folder / f"{name}.py"
        told = {"rate": 0.01, "decorator": "", "update": KERAS, **changes}
        path.write_text(LOOP.format(**told))
        sides.append(Side(name, str(path)))
    measured = Measured(0, 3, 0, 20, 0, None, None, None, None, epoch_steps=20)
    return Prover(folder, Limits()).equivalence(*sides, measured, "given")


def test_a_jitted_step_is_compared_with_an_eager_one(tmp_path: Path) -> None:
    found = compared(tmp_path, {}, {"decorator": "@jax.jit"})
    assert found.learning in ("bitwise", "close"), found.detail
    assert "weight" in found.detail


@pytest.mark.parametrize("decorator", ["", "@jax.jit"])
def test_another_rate_is_seen(decorator: str, tmp_path: Path) -> None:
    base = {"decorator": decorator}
    found = compared(tmp_path, base, {**base, "rate": 0.02})
    assert found.learning == "different", found.detail


def test_weights_that_the_step_gives_away_are_not_called_equal(tmp_path: Path) -> None:
    donated = "import functools\n@functools.partial(jax.jit, donate_argnums=0)"
    found = compared(tmp_path, {}, {"decorator": donated, "rate": 0.02})
    assert found.learning in ("different", "not-checked"), found.detail
