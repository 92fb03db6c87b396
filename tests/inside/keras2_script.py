"""Run in a process of its own: a tiny training of Keras 2, then asserts on each seam."""

import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
recording = sys.argv[1]

from fitdoctor.contract.options import RunOptions
from fitdoctor.inside.wiring import start

recorder = start(recording, RunOptions())

import numpy as np
import tensorflow as tf

keras = tf.keras
assert "tf_keras" in keras.Model.__module__, keras.Model


class Watcher(keras.callbacks.Callback):
    seen = 0

    def on_train_batch_end(self, batch, logs=None):
        Watcher.seen += 1


def rows():
    import time

    for _ in range(40):
        time.sleep(0.02)
        yield np.ones((8, 3), "float32"), np.ones((8, 1), "float32")


model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(1)])
model.compile("adam", "mse")
x, y = np.ones((64, 3), "float32"), np.ones((64, 1), "float32")
model.fit(x, y, batch_size=8, epochs=3, verbose=0, callbacks=[Watcher()], validation_data=(x, y))
signature = tf.TensorSpec((8, 3)), tf.TensorSpec((8, 1))
data = tf.data.Dataset.from_generator(rows, output_signature=signature)
model.fit(data, epochs=1, verbose=0)
model.predict(x, verbose=0)
model.train_on_batch(x[:8], y[:8])
recorder.flush()

lines = [json.loads(line) for line in open(recording)]
of = lambda kind: [line for line in lines if line["k"] == kind]  # noqa: E731

kinds = [w["kind"] for w in of("workload")]
assert kinds == ["fit", "fit", "predict", "train_on_batch"], kinds
assert all(w["file"] == os.path.abspath(__file__) for w in of("workload"))
assert of("keras")[-1]["version"].startswith("2.")
notes = [note["message"] for note in of("note")]
assert len(notes) == 1 and "Keras 2" in notes[0], notes
rows_of_first = [block for block in of("steps") if block["w"] == 1]
assert sum(len(block["t"]) for block in rows_of_first) == 24
assert {block["e"] for block in rows_of_first} == {0, 1, 2}
slow = [block for block in of("steps") if block["w"] == 2]
waited = sum(block["graph_wait"] for block in slow)
assert sum(len(block["t"]) for block in slow) == 40
assert waited > 0.4e9, f"waits of 0.8 s are not seen in the graph: {waited}"
totals = {i["name"]: i for c in of("callbacks") if c["w"] == 1 for i in c["items"]}
assert totals["Watcher"]["count"] == Watcher.seen == 24, totals
call = next(c for c in of("calls") if c["w"] == 1)
assert call["epochs"] == [3] and call["validation"][0] > 0
assert not of("probe")

training = sys.modules["tf_keras.src.engine.training"]
recorder.patches.undo()
assert "fitdoctor" not in training.Model.fit.__code__.co_filename
assert "fitdoctor" not in getattr(model.train_function, "__module__", "")
print("seams hold")
