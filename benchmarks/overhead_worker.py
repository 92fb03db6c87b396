"""One backend, one step length: pairs of fits without and with the recorder.

A fit is timed from its call to `on_train_end`. What comes after is TensorFlow letting go of its
iterator, which waits for tf.data's autotuning thread: now and then it misses the wake-up and
sleeps out its period (fits of 1 s then end at 1.30 s, recorded or not). That says nothing of
the recorder, and is printed apart.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time

# One epoch per fit: what happens between epochs varies too much from time to time.
STEPS_PER_FIT = {1: 2000, 10: 250, 100: 25}

Timed = tuple[float, float]  # seconds per step until the training ended, seconds of the return


def main(step_ms: int, rounds: int) -> None:
    """Print the pairs of seconds per step as the last line."""
    from fitdoctor.contract.options import RunOptions
    from fitdoctor.inside.wiring import start

    folder = tempfile.mkdtemp()
    recorder = start(os.path.join(folder, "a.rec"), RunOptions(probes=False, keep_running=True))
    import keras

    # Two models: what is traced while recording keeps the clock in its graph.
    models = {recorded: build(keras, step_ms) for recorded in (False, True)}
    for recorded, model in models.items():
        one(recorder, model, recorded)  # compile and warm up
    pairs = []
    for i in range(rounds):
        order = (True, False) if i % 2 else (False, True)
        timed = {recorded: one(recorder, models[recorded], recorded) for recorded in order}
        pairs.append((timed[False], timed[True]))
    print(json.dumps(pairs))
    os._exit(0)


def one(recorder, model_and_data, recorded: bool) -> Timed:
    """Times of one fit; without recording, every patch passes straight through."""
    if recorded:
        return seconds(model_and_data)
    with recorder.suspend():
        return seconds(model_and_data)


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
    steps = STEPS_PER_FIT[step_ms]
    x = np.random.rand(rows * steps, 64).astype("float32")
    y = np.random.rand(rows * steps, 1).astype("float32")
    return model, x, y, rows


def seconds(model_and_data) -> Timed:
    """Seconds per step of one fit, and what its return took."""
    import keras

    ended = []
    at_end = keras.callbacks.LambdaCallback(on_train_end=lambda _: ended.append(now()))
    now = time.perf_counter
    model, x, y, rows = model_and_data
    begin = now()
    model.fit(x, y, batch_size=rows, verbose=0, shuffle=False, callbacks=[at_end])
    returned = now()
    return (ended[0] - begin) / (len(x) // rows), returned - ended[0]


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
