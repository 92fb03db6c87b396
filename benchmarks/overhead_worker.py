"""One backend, one step length: pairs of fits without and with the recorder."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

SECONDS_PER_FIT = 1.2
STEPS_PER_EPOCH = {1: 100, 10: 20, 100: 5}


def main(step_ms: int, rounds: int) -> None:
    """Print the pairs of seconds per step as the last line."""
    from fitdoctor.child import start

    folder = tempfile.mkdtemp()
    recorder = start(os.path.join(folder, "a.rec"), {"probes": False, "continue": True})
    import keras

    # Two models: what is traced while recording keeps the clock in its graph.
    models = {recorded: build(keras, step_ms) for recorded in (False, True)}
    for recorded, model in models.items():
        one(recorder, model, 20, recorded)  # compile and warm up
    steps = max(5, int(SECONDS_PER_FIT / one(recorder, models[False], 20, False)))
    pairs = []
    for i in range(rounds):
        order = (True, False) if i % 2 else (False, True)
        timed = {recorded: one(recorder, models[recorded], steps, recorded) for recorded in order}
        pairs.append((timed[False], timed[True]))
    print(json.dumps(pairs))
    os._exit(0)


def one(recorder, model_and_data, steps: int, recorded: bool) -> float:
    """Seconds per step of one fit; without recording, every patch passes straight through."""
    if recorded:
        return seconds(model_and_data, steps)
    with recorder.suspend():
        return seconds(model_and_data, steps)


def build(keras, step_ms: int):
    """A model whose step takes about that long on two cores."""
    import numpy as np

    keras.utils.set_random_seed(0)
    width = {1: 64, 10: 768, 100: 2560}[step_ms]
    rows = {1: 32, 10: 64, 100: 128}[step_ms]
    model = keras.Sequential(
        [keras.Input((64,)), *[keras.layers.Dense(width, "relu") for _ in range(3)],
         keras.layers.Dense(1)]
    )  # fmt: skip
    model.compile("sgd", "mse")
    per_epoch = STEPS_PER_EPOCH[step_ms]
    x = np.random.rand(rows * per_epoch, 64).astype("float32")
    y = np.random.rand(rows * per_epoch, 1).astype("float32")
    return model, x, y, rows


def seconds(model_and_data, steps: int) -> float:
    """Seconds per step of a fit of that many steps."""
    model, x, y, rows = model_and_data
    per_epoch = len(x) // rows
    epochs = max(1, round(steps / per_epoch))
    begin = time.perf_counter()
    model.fit(x, y, batch_size=rows, epochs=epochs, verbose=0, shuffle=False)
    return (time.perf_counter() - begin) / (epochs * per_epoch)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
