"""Copies of models and layers by themselves, on one backend; run by test_model_probes.py."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace

os.environ["KERAS_BACKEND"] = sys.argv[1]

import keras
import numpy as np

from fitdoctor.inside.lab.apparatus.fit_step import FitStep
from fitdoctor.inside.lab.apparatus import arithmetic
from fitdoctor.inside.lab.probes import padding
from fitdoctor.inside.lab.probes.host_augmentation import in_loader, in_model
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Subject
from fitdoctor.inside.lab.apparatus.layer_timer import timed_alone
from fitdoctor.inside.lab.apparatus.model_pass import has_users_loss
from fitdoctor.inside.lab.probes.frozen_batch import FrozenInLoopProbe
from fitdoctor.inside.lab.probes.vectorised_maps import VectorisedProbe
from fitdoctor.inside.lab.apparatus.frozen_steps import Copies, step_under
from fitdoctor.inside.seams.models.clones import cloned, output_layers
from fitdoctor.inside.seams.models.contexts import in_policy, with_optimizer, without_metrics
from fitdoctor.inside.seams.backends.jax import JaxBackend
from fitdoctor.inside.seams.models.layer_step import layer_step
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.backends.tensorflow import TensorFlowBackend
from fitdoctor.inside.seams.backends.torch import TorchBackend

name = sys.argv[1]
if name == "tensorflow":
    import tensorflow
backend = {"tensorflow": TensorFlowBackend, "jax": JaxBackend, "torch": TorchBackend}[name]()


def context_of(call, batch, compiled_with=None):
    recorder = SimpleNamespace(compiled_with={call.model: compiled_with} if compiled_with else {})
    workload = SimpleNamespace(number=1)
    trial = None
    if hasattr(call, "step_function"):
        trial = FitStep(backend, call, batch, None, is_eager=False)
    return Context(
        recorder=recorder, backend=backend, subject=Subject.FIT, workload=workload,
        call=call, batch=batch, trial=trial,
    )  # fmt: skip


keras.utils.set_random_seed(0)
inner = keras.Sequential([keras.Input((8,)), keras.layers.Dense(16, name="inside")], name="inner")
inputs = keras.Input((8,))
hidden = inner(inputs)
outputs = keras.layers.Dense(3, name="head")(hidden)
model = keras.Model(inputs, outputs)
model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
compiled_with = {"optimizer": model.optimizer, "loss": "mse", "metrics": ["mae"]}
x, y = np.ones((4, 8), "float32"), np.ones((4, 3), "float32")
batch = (keras.ops.convert_to_tensor(x), keras.ops.convert_to_tensor(y))

before = [np.array(w) for w in model.get_weights()]
assert {layer.name for layer in all_layers(model)} >= {"inside", "head"}
assert output_layers(model) == {"head"}

# A copy is another model, and the user's own keeps its weights and later names.
keras.layers.Dense(1)
copy = cloned(model, compiled_with)
assert copy is not model
assert copy.optimizer is not model.optimizer
later = keras.layers.Dense(1).name
assert later == "dense_1", later

copies = Copies(context_of(SimpleNamespace(model=model), batch, compiled_with))
try:
    copies.changed(lambda layer: None)
except NotAvailable as reason:
    assert "unchanged copy" in str(reason)
else:
    raise AssertionError("a changed copy was compared with nothing")
data = copies.as_is()
assert data.ns
assert data.first_ns > 0
assert data.parameters == model.count_params()


def narrow(layer):
    if layer.name != "inside":
        return None
    return type(layer).from_config({**layer.get_config(), "units": 8})


half = copies.changed(narrow)
assert half.parameters < data.parameters
assert len(half.base_ns) == len(half.ns)
assert type(copy.optimizer) is type(model.optimizer)
for was, now in zip(before, model.get_weights(), strict=True):
    np.testing.assert_array_equal(was, now)


# What cannot be rebuilt says so.
class Own(keras.Model):
    def train_step(self, *args):
        raise AssertionError("never called")


try:
    cloned(Own(inputs, outputs), compiled_with)
except NotAvailable as reason:
    assert "train_step" in str(reason)
else:
    raise AssertionError("a model with its own train_step was copied")


class Unbuildable(keras.Model):
    def __init__(self, width):
        super().__init__()
        self.dense = keras.layers.Dense(width)

    def call(self, x):
        return self.dense(x)


subclassed = Unbuildable(3)
subclassed.compile("sgd", "mse")
try:
    cloned(subclassed, {"optimizer": "sgd", "loss": "mse"})
except NotAvailable as reason:
    assert "cannot be rebuilt" in str(reason)
else:
    raise AssertionError("a subclassed model was copied")


# The user's own model with something changed for a while, and back again.
optimizer, metrics = model.optimizer, len(model.metrics)
model.fit(x, y, batch_size=4, verbose=0)
before = [np.array(w) for w in model.get_weights()]
restore = backend.snapshot(model)
running = SimpleNamespace(
    model=model, epoch_iterator=None, executions=1, step_function=model.train_function
)
for make in (
    lambda m: with_optimizer(m, "sgd"),
    lambda m: in_policy(m, "float32"),
    without_metrics,
):
    own = model.train_function
    changed = step_under(context_of(running, batch), make)
    assert len(changed["ns"]) == len(changed["base_ns"]) > 0
    assert model.optimizer is optimizer
    assert model.train_function is own
    assert len(model.metrics) >= metrics
restore()
for was, now in zip(before, model.get_weights(), strict=True):
    np.testing.assert_array_equal(was, now)
half_precision = keras.Sequential(
    [keras.Input((8,)), keras.layers.Dense(3, dtype="mixed_bfloat16")]
)
half_precision.compile("sgd", "mse")
context = in_policy(half_precision, "float32")
with context():
    assert half_precision.layers[0].compute_dtype == "float32"
assert half_precision.layers[0].compute_dtype == "bfloat16"

# Layers by themselves: gradients included, host ops seen.
dense = model.get_layer("head")
step = layer_step(name, dense, (keras.ops.ones((4, 16)),), {})
step.run()
assert step.backward
assert step.host_ops == 0


class Host(keras.layers.Layer):
    def call(self, x):
        if name == "tensorflow":
            return tensorflow.numpy_function(lambda a: a * 2, [x], "float32")
        if name == "jax":
            import jax

            shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
            return jax.pure_callback(lambda a: np.asarray(a) * 2, shape, x)
        import torch

        return torch.from_numpy(x.detach().cpu().numpy() * 2)


host = Host()
host(keras.ops.ones((4, 16)))  # layers of a model are built
alone = layer_step(name, host, (keras.ops.ones((4, 16)),), {})
alone.run()
assert alone.host_ops >= 1

# Padding: lengths on either side, and the length that batches of like rows need.
tokens = np.zeros((6, 40), "int32")
for row in range(6):
    tokens[row, : row + 1] = 7
assert padding._real_lengths((tokens, np.zeros((6, 1)))) == [1, 2, 3, 4, 5, 6]
assert padding._is_left_aligned((tokens, np.zeros((6, 1))))
assert padding._real_lengths((tokens[:, ::-1], np.zeros((6, 1)))) == [1, 2, 3, 4, 5, 6]
assert not padding._is_left_aligned((tokens[:, ::-1], np.zeros((6, 1))))

sequence = keras.Sequential(
    [keras.Input((None,), dtype="int32"), keras.layers.Embedding(10, 4), keras.layers.GRU(4)]
)
sequence.compile("sgd", "mse")
targets = np.zeros((6, 4), "float32")
sequence.train_on_batch(tokens, targets)
frozen = (keras.ops.convert_to_tensor(tokens), keras.ops.convert_to_tensor(targets))
call = SimpleNamespace(
    model=sequence, epoch_iterator=None, executions=1, arguments={}, step_function=None
)
assert padding.has_time_axis(all_layers(sequence))
found = padding.padding(context_of(call, frozen), ())
assert found.length == 40
assert found.bucketed == 4
assert found.cut is not None
assert found.cut.ns

assert arithmetic.flops("Conv2D", [(3, 3, 8, 64)], (2, 32, 32, 64), (2, 30, 30, 64)) == (
    2.0 * 2 * 30 * 30 * 64 * 3 * 3 * 8
)
# The optimizer by itself: state changes, and the snapshot puts it back.
from fitdoctor.inside.seams.models.layer_step import optimizer_update

model.fit(x, y, verbose=0)  # momentum that an update without gradients still follows
before_update = [np.array(w) for w in model.get_weights()]
restore = backend.snapshot(model)
data = timed_alone(backend, optimizer_update(name, model, model.optimizer, {}))
assert data.ns
if name != "jax":
    changed = zip(before_update, model.get_weights(), strict=True)
    assert any((one != np.array(two)).any() for one, two in changed)
restore()
for one, two in zip(before_update, model.get_weights(), strict=True):
    np.testing.assert_array_equal(one, np.array(two))
frozen_model = keras.Sequential([keras.Input((2,)), keras.layers.Rescaling(2.0)])
try:
    optimizer_update(name, frozen_model, None, {})
except NotAvailable:
    pass
else:
    raise AssertionError("a model without weights has nothing to update")

# Steps inside Keras's loop: the state that a running fit left on the model is there again.
from fitdoctor.inside.seams.backends.jax import STATE_PARTS, result_handling


class Handed(keras.callbacks.Callback):
    parts = None

    def on_train_batch_end(self, batch, logs=None):
        Handed.parts = getattr(self.model, "_jax_state", None)


model.fit(x, y, verbose=0, callbacks=[Handed()])
if name == "jax":
    assert set(Handed.parts) == set(STATE_PARTS), "Keras keeps another state"
    model._jax_state = {"of": "a running fit"}
running = SimpleNamespace(model=model, epoch_iterator=None, executions=1, step_function=None)
restore = backend.snapshot(model)
assert FrozenInLoopProbe().run(context_of(running, batch)).ns
restore()
if name == "jax":
    assert dict(model._jax_state) == {"of": "a running fit"}
    fake = SimpleNamespace(state=([1], [2], [3], [4]))
    with result_handling(model, fake) as hand_over:
        hand_over()
        assert list(model._jax_state) == list(STATE_PARTS)
    model._jax_state = None


# Layers that draw random numbers, called by the loader: there, and in front of the model.
class Augmented(keras.utils.PyDataset):
    flip = keras.layers.RandomFlip()
    scaled = keras.layers.Rescaling(0.5)
    num_batches = 3

    def __getitem__(self, index):
        images = np.ones((4, 8, 8, 3), "float32")
        return keras.ops.convert_to_numpy(self.flip(self.scaled(images), training=True)), images


call_before = keras.layers.Layer.__call__
facts, random_layers = in_loader(backend, lambda: Augmented()[0])
assert keras.layers.Layer.__call__ is call_before
assert random_layers == [Augmented.flip], random_layers
assert facts.layers == ("RandomFlip",)
assert 0 < facts.layers_ns <= facts.batch_ns
try:
    in_loader(backend, lambda: Augmented.scaled(np.ones((1, 2))))
except NotAvailable as reason:
    assert "no augmentation layer" in str(reason)
else:
    raise AssertionError("a layer without random numbers is no augmentation")
pixels = keras.Sequential([keras.Input((8, 8, 3)), keras.layers.Flatten(), keras.layers.Dense(1)])
pixels.compile("sgd", "mse")
images = np.ones((4, 8, 8, 3), "float32")
pixels.fit(images, images[:, 0, 0, :1], verbose=0)
running = SimpleNamespace(
    model=pixels, epoch_iterator=None, executions=1, step_function=pixels.train_function
)
restore = backend.snapshot(pixels)
convert = keras.ops.convert_to_tensor
pair = (convert(images), convert(images[:, 0, 0, :1]))
augmented = in_model(context_of(running, pair), random_layers)
assert len(augmented.ns) == len(augmented.base_ns) > 0
assert "call" not in vars(pixels)
restore()


# A loss of the user's own that maps over its rows is tried with all rows at once.
def by_rows(y_true, y_pred):
    return keras.ops.map(lambda pair: keras.ops.mean((pair[0] - pair[1]) ** 2), (y_true, y_pred))


def told(loss):
    plain = keras.Sequential([keras.Input((8,)), keras.layers.Dense(3)])
    plain.compile("sgd", loss)
    plain.fit(x, y, verbose=0)
    running = SimpleNamespace(
        model=plain, epoch_iterator=None, executions=1, step_function=plain.train_function
    )
    context = context_of(running, batch, {"loss": loss})
    assert has_users_loss(context) is (loss is by_rows)
    return VectorisedProbe().run(context)


mapped = told(by_rows)
assert [one.call for one in mapped.calls] == ["map"]
assert mapped.calls[0].file == __file__
assert len(mapped.ns) == len(mapped.base_ns) > 0
try:
    told("mse")
except NotAvailable as reason:
    assert "no map over the rows" in str(reason)
else:
    raise AssertionError("a map was seen in Keras's own loss")

print("models hold")
