"""JAX keeps traces by the equality of functions: a trial under another policy needs its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import keras
import numpy as np

seen = []


class Dense(keras.layers.Dense):
    def call(self, inputs, training=None):
        seen.append(self.compute_dtype)
        return super().call(inputs)


model = keras.Sequential([keras.Input((8,)), Dense(16), keras.layers.Dense(1)])
model.compile("sgd", "mse")
x = np.ones((32, 8), "float32")
model.fit(x, x[:, :1], verbose=0)

from fitdoctor.inside.seams.models.contexts import in_policy, step_under
from fitdoctor.inside.seams.backends.jax import _own_step

import jax.numpy as jnp

parts = (
    model.trainable_variables,
    model.non_trainable_variables,
    model.optimizer.variables,
    model.metrics_variables,
)
state = tuple([jnp.array(v._value) for v in part] for part in parts)
before = len(seen)
step = step_under(model, _own_step(model, in_policy(model, "mixed_bfloat16")))
step(state, iter([(jnp.array(x), jnp.array(x[:, :1]))]))
print(seen[before:], "train_step" in vars(model))
"""


def test_a_step_under_another_policy_is_traced_anew() -> None:
    pytest.importorskip("jax")
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.stdout.strip() == "['bfloat16'] False", ran.stderr
