"""Run in a process of its own: a tiny training under the recorder, then asserts on each seam.

The last line names the modules of seams/watch whose seams were found to hold.
"""

import json
import os
import sys

os.environ["KERAS_BACKEND"] = backend = sys.argv[1]
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
recording = sys.argv[2]

from fitdoctor.contract.options import RunOptions
from fitdoctor.inside.wiring import start

recorder = start(recording, RunOptions(probes=False))

import keras
import numpy as np

from fitdoctor.inside.ledger import iterator_changes
from fitdoctor.inside.seams.backends.model_state import state_variables
from fitdoctor.inside.seams.inputs import constructed
from fitdoctor.inside.seams.models.contexts import without_metrics
from fitdoctor.inside.seams.watch import (
    debug_checks,
    eager_switch,
    entered_fit,
    keras_trainer,
    outside_torch,
)

held = []  # modules of seams/watch
synced_in_fit = set()


class Watcher(keras.callbacks.Callback):
    seen = 0
    iterator = None

    def on_train_batch_end(self, batch, logs=None):
        Watcher.seen += 1
        Watcher.iterator = recorder.active_call().epoch_iterator
        # Not `self.model`, which syncs.
        synced_in_fit.add(getattr(model, "_jax_state_synced", None))


class Late(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        Late.found = entered_fit.entered_fit(self.model)


iterator_changes.ITERATOR_WAIT_NS = -(10**12)  # every change of iterators is recorded
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
model.compile("adam", "mse", metrics=["mae"])
x, y = np.ones((64, 3), "float32"), np.ones((64, 1), "float32")
callback = Watcher()
history = model.fit(
    x, y, batch_size=8, epochs=3, verbose=0, callbacks=[callback, Late()], validation_data=(x, y)
)
model.fit(((x[:8], y[:8]) for _ in range(20)), steps_per_epoch=6, epochs=2, verbose=0)
model.predict(x, verbose=0)
model.evaluate(x, y, verbose=0)
model.train_on_batch(x[:8], y[:8])
model.predict_on_batch(x[:8])
recorder.flush()

lines = [json.loads(line) for line in open(recording)]
of = lambda kind: [line for line in lines if line["k"] == kind]  # noqa: E731

assert not of("note"), of("note")
assert of("keras")[0]["backend"] == backend
kinds = [w["kind"] for w in of("workload")]
assert kinds == ["fit", "fit", "predict", "evaluate", "train_on_batch", "predict_on_batch"], kinds
assert all(w["file"] == os.path.abspath(__file__) for w in of("workload"))
rows = [block for block in of("steps") if block["w"] == 1]
assert sum(len(block["t"]) for block in rows) == 24
assert {block["e"] for block in rows} == {0, 1, 2}
if backend == "tensorflow":
    assert all(block["graph_wait"] > 0 for block in rows), "the clock in the graph is gone"
    traces = [e for e in of("event") if e["name"] == "trace"]
    assert any(e["detail"]["name"] == "multi_step_on_iterator" for e in traces)
    assert traces[0]["detail"]["called_from"][0] == os.path.abspath(__file__)
    changes = [e for e in of("event") if e["name"] == "iterator_wait" and e["w"] == 1]
    assert len(changes) == 2, "Keras asks for an epoch's iterator elsewhere"
    held += ["graph_clock", "tensorflow_traces"]
else:
    assert all(None not in block["wait"] and sum(block["wait"]) > 0 for block in rows)
if backend == "jax":
    assert any("train_step" in e["detail"]["name"] for e in of("event") if e["name"] == "compile")
call = [c for c in of("calls") if c["w"] == 1][0]
assert call["epochs"] == [3] and call["validation"][0] > 0
assert len([e for e in of("event") if e["name"] == "validation"]) == 3
totals = {i["name"]: i for c in of("callbacks") if c["w"] == 1 for i in c["items"]}
assert totals["Watcher"]["count"] == Watcher.seen == 24
assert totals["Watcher"]["file"] == os.path.abspath(__file__)
assert len([e for e in of("event") if e["name"] == "compile_call"]) == 1
held += ["keras_trainer", "keras_callbacks"]

# The frame of `Trainer.fit`, from which a callback that came late learns about the data.
given, iterator = Late.found
assert given["x"] is x and given["batch_size"] == 8 and given["epochs"] == 3, given
assert iterator is Watcher.iterator and iterator is not None
held.append("entered_fit")

# Attributes of Keras's that it does not promise to keep.
assert Watcher.iterator.data_adapter is not None
if backend == "tensorflow":
    assert Watcher.iterator._distributed_dataset.element_spec
if backend == "jax":
    assert synced_in_fit == {False}, "the state of a fit on JAX is kept elsewhere"
assert set(model.layers) <= set(model._flatten_layers(include_self=False))
with without_metrics(model)():
    assert "mean_absolute_error" not in model.get_metrics_result(), model.get_metrics_result()
assert "mae" in model.get_metrics_result(), model.get_metrics_result()
if backend != "torch":
    import tensorflow as tf
    from keras.src.trainers.data_adapters import get_data_adapter

    data = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    assert get_data_adapter(data)._dataset is data
    generator = get_data_adapter((x[:8], y[:8]) for _ in range(3))
    assert generator._first_batches[0][0].shape == (8, 3)

# The switches that turn compilation off.
framework = sys.modules[backend]
if backend == "torch":

    def leaves_torch():
        return float(torch.ones(3).sum().numpy() + 1)

    import torch

    found = outside_torch.watch_absences(lambda: (leaves_torch(), torch.ones(1) + 1), 0.01)
    assert found.functions[0][2] == "leaves_torch"
    held.append("outside_torch")
else:
    assert eager_switch.eager_switch(backend) is None
    if backend == "jax":
        framework.config.update("jax_disable_jit", True)
    else:
        framework.config.run_functions_eagerly(True)
    switch = eager_switch.eager_switch(backend)
    switch.turn(True)
    assert eager_switch.eager_switch(backend) is None
    held.append("eager_switch")

assert debug_checks.checks_on(backend) is None
if backend == "torch":
    torch.autograd.set_detect_anomaly(True)
elif backend == "jax":
    framework.config.update("jax_debug_nans", True)
else:
    framework.debugging.enable_check_numerics()
checks = debug_checks.checks_on(backend)
with checks.off():
    assert debug_checks.checks_on(backend) is None
if backend == "torch":
    torch.autograd.set_detect_anomaly(False)
elif backend == "jax":
    framework.config.update("jax_debug_nans", False)
else:
    framework.debugging.disable_check_numerics()
held.append("debug_checks")


class Rows(keras.utils.PyDataset):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)


made = constructed.construction(Rows(workers=2), "workers")
assert made.made.call == "Rows" and made.made.file == os.path.abspath(__file__)
assert made.base_init.line == Rows.__init__.__code__.co_firstlineno + 1
if backend == "torch":
    import torch

    loader = torch.utils.data.DataLoader(x)
    assert constructed.construction(loader, "num_workers").made.call == "DataLoader"

# Nothing of ours stays on the user's objects.
assert not hasattr(model.train_function, "__self__")
assert "fitdoctor" not in getattr(model.train_function, "__module__", "")
assert type(callback) is Watcher and "on_train_batch_end" not in vars(callback)
seeds = [v for v in state_variables(model) if "seed" in v.path]
assert seeds, "the seed generator of Dropout is not among the state"
assert len(state_variables(model)) >= len(model.weights) + len(model.optimizer.variables)

module_name, trainer, iterator = keras_trainer.TRAINERS[backend]
module = sys.modules[module_name]
patched = getattr(module, trainer).fit
recorder.patches.undo()
assert getattr(module, trainer).fit is not patched
assert "fitdoctor" not in getattr(module, trainer).fit.__code__.co_filename
# How often a fit converts its arrays: IN009 prices a cast with it.
from keras.src.trainers.data_adapters import array_data_adapter

from fitdoctor.inside.seams.inputs.keras_arrays import conversions_per_epoch

maker = {"tensorflow": "get_tf_dataset", "jax": "get_jax_iterator"}.get(
    backend, "get_torch_dataloader"
)
make, made = getattr(array_data_adapter.ArrayDataAdapter, maker), []
setattr(array_data_adapter.ArrayDataAdapter, maker, lambda self: made.append(1) or make(self))
model.fit(x, y, batch_size=8, epochs=4, verbose=0)
setattr(array_data_adapter.ArrayDataAdapter, maker, make)
assert len(made) == max(1, 4 * conversions_per_epoch(backend)), made

print("seams hold:", *held)
