"""Run in a process of its own: hand-written loops under the recorder, then asserts.

The last line names the modules of seams/watch whose seams were found to hold.
"""

import functools
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

x, y = np.ones((64, 3), "float32"), np.ones((64, 1), "float32")
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1)
HERE = os.path.abspath(__file__)


def loop_of_datasets():
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)

    def train_step(features, target):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(features, training=True) - target))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    compiled = tf.function(train_step)
    for _ in range(2):
        for features, target in dataset:
            train_step(features, target)
    eager = recorder.workloads[("loop", HERE, sys._getframe().f_lineno - 2)]
    assert eager.steps == 16, eager.steps
    for i in range(12):
        compiled(tf.constant(x[:8]), tf.constant(y[:8]))
        assert i >= 0
    for _ in range(9):
        train_step(tf.constant(x[:8]), tf.constant(y[:8]))
    for i in range(4):
        compiled(tf.constant(x[:8]), float(i))  # a new trace each time
    for _ in range(7):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x[:8], training=True) - y[:8]))
        weights = [v.value for v in model.trainable_variables]
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            weight.assign_sub(0.1 * gradient)
    # Of the last loops the last round is still open. Gradients count from the second one on:
    # after the first an optimizer might have come.
    return [16, 11, 8, 3, 5]


def loop_of_data_loader():
    import torch

    data = torch.utils.data.TensorDataset(torch.tensor(x), torch.tensor(y))
    loader = torch.utils.data.DataLoader(data, batch_size=8)
    for _ in range(2):
        for features, target in loader:
            loss = ((model(features) - target) ** 2).mean()
            model.zero_grad()
            loss.backward()
            with torch.no_grad():
                weights = model.trainable_variables
                optimizer.apply([v.value.grad for v in weights], weights)
    by_torch = torch.optim.SGD(model.parameters(), 0.1)
    batches = iter(loader)
    for _ in range(6):
        features, target = next(batches)
        by_torch.zero_grad()
        ((model(features) - target) ** 2).mean().backward()
        by_torch.step()
    for _ in range(9):
        by_torch.zero_grad()
        ((model(torch.tensor(x[:8])) - torch.tensor(y[:8])) ** 2).mean().backward()
        by_torch.step()
    for _ in range(7):
        model.zero_grad()
        ((model(torch.tensor(x[:8])) - torch.tensor(y[:8])) ** 2).mean().backward()
        with torch.no_grad():
            for weight in model.parameters():
                weight -= 0.1 * weight.grad
    # Of loops without a loader the last round is still open. Gradients count from the second one
    # on: after the first an optimizer might have come.
    # A loop that asks by `next` ends without asking again: the last round is open too.
    return [16, 5, 8, 5]


def loop_of_jax():
    import jax
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(8)
    helper = jax.jit(lambda values: values * 2)  # runs no model: marks no step

    class Doubling:
        @functools.partial(jax.jit, static_argnums=0)
        def twice(self, value):
            return 2 * value

    trainable = [v.value for v in model.trainable_variables]

    @jax.jit
    def step(weights, features, target):
        def loss(w):
            out, _ = model.stateless_call(w, [], features)
            return ((out - target) ** 2).mean()

        return [w - 0.1 * g for w, g in zip(weights, jax.grad(loss)(weights), strict=True)]

    for _ in range(2):
        for features, target in dataset:
            trainable = step(trainable, features.numpy(), target.numpy())
    for _ in range(9):
        helper(x[:8])
        trainable = step(trainable, x[:8], y[:8])
    for rows in (8, 4, 2):
        trainable = step(trainable, x[:rows], y[:rows])

    def eager_step(weights, slots):
        def loss(w):
            return ((model.stateless_call(w, [], x[:8])[0] - y[:8]) ** 2).mean()

        return optimizer.stateless_apply(slots, jax.grad(loss)(weights), weights)

    optimizer.build(model.trainable_variables)
    slots = [v.value for v in optimizer.variables]
    for _ in range(7):
        trainable, slots = eager_step(trainable, slots)
    jitted = jax.jit(eager_step)
    for _ in range(5):
        trainable, slots = jitted(trainable, slots)

    def loss_of(weights):
        return ((model.stateless_call(weights, [], x[:8])[0] - y[:8]) ** 2).mean()

    for _ in range(7):
        _, gradients = jax.value_and_grad(loss_of)(trainable)
        trainable = [w - 0.1 * g for w, g in zip(trainable, gradients, strict=True)]
    assert step.lower(trainable, x[:8], y[:8]).as_text()
    assert isinstance(step, jax.stages.Wrapped)
    assert Doubling().twice(3) == 6
    assert jax.vmap(helper)(x).shape == (64, 3)
    # Of loops without a loader the last round is still open. Gradients count from the second one
    # on: after the first an optimizer might have come.
    return [16, 8, 2, 6, 3, 5]


expected = {
    "tensorflow": loop_of_datasets,
    "torch": loop_of_data_loader,
    "jax": loop_of_jax,
}[backend]()
recorder.flush()
lines = [json.loads(line) for line in open(recording)]
loops = [line for line in lines if line["k"] == "workload" and line["kind"] == "loop"]
assert all(loop["file"] == HERE for loop in loops), loops
steps = [
    sum(len(b["t"]) for b in lines if b["k"] == "steps" and b["w"] == loop["w"]) for loop in loops
]
assert steps == expected, (steps, expected)
assert not [line for line in lines if line["k"] == "note"]
if backend == "tensorflow":
    traces = [line for line in lines if line["k"] == "event" and line["name"] == "trace"]
    last = [line for line in traces if line.get("w") == loops[-2]["w"]]
    assert [line["step"] for line in last] == [0, 1, 2, 3], traces
if backend == "jax":
    details = [
        line["detail"] for line in lines if line["k"] == "event" and line["name"] == "compile"
    ]
    new = [
        detail["shapes"] for detail in details if detail.get("file") == HERE and detail["shapes"]
    ]
    assert ["float32[4, 3]", "float32[4, 1]"] in new, details
held = {
    "tensorflow": ["tensorflow_calls", "optimizer_updates", "gradients"],
    "torch": ["optimizer_updates", "gradients"],
    "jax": ["jax_calls", "jit_arguments"],
}
print("loops hold:", *held[backend])
