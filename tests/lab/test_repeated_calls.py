"""A layer called in a loop: independent calls can be one, a recurrence cannot."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json
import keras
import numpy as np
from keras import layers, ops

from fitdoctor.inside.lab.probes.repeated_calls import one_call_instead
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.backends.torch import TorchBackend


class Frames(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.Dense(8)

    def call(self, x):
        return ops.stack([self.encoder(x[:, t]) for t in range(6)], axis=1)


class Recurrent(keras.Model):
    def __init__(self):
        super().__init__()
        self.encoder = layers.Dense(8)

    def call(self, x):
        state = x[:, 0]
        for _ in range(6):
            state = self.encoder(state)
        return state


class Twice(Frames):
    def call(self, x):
        return self.encoder(x[:, 0]) + self.encoder(x[:, 1])


found = {}
x = ops.convert_to_tensor(np.ones((4, 6, 8), "float32"))
for model in (Frames(), Recurrent(), Twice()):
    before = keras.layers.Layer.__call__
    model(x)
    try:
        data = one_call_instead(TorchBackend(), model.encoder, lambda: model(x), {})
        found[type(model).__name__] = [data.calls, len(data.ns) > 0]
    except NotAvailable as error:
        found[type(model).__name__] = str(error)
    assert keras.layers.Layer.__call__ is before
print(json.dumps(found))
"""


def test_only_independent_calls_are_tried_as_one() -> None:
    pytest.importorskip("torch")
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, "KERAS_BACKEND": "torch"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.strip().splitlines()[-1])
    assert found["Frames"] == [6, True]
    assert found["Recurrent"] == "a call needs what the one before it computed"
    assert found["Twice"] == "the layer is called only a few times"
