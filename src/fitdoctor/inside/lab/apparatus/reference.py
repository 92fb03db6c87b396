"""A compiled stand-in for a loop body that cannot be compiled as it is written."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.not_available import NotAvailable


def reference_step(names: dict[str, Any], element: Any) -> Callable[[], Any]:
    """Forward, backward and update of the loop's own model on its own batch, as a graph.

    The loss is a stand-in (mean square of the outputs): its cost is small beside the
    model's. Only for TensorFlow, where a body without a step function is usual.
    """
    tf = sys.modules.get("tensorflow")
    keras = sys.modules.get("keras")
    if tf is None or keras is None:
        raise NotAvailable("no step function was found in the loop's body")
    models = [value for value in names.values() if isinstance(value, keras.Model)]
    optimizers = [v for v in names.values() if isinstance(v, keras.optimizers.Optimizer)]
    leaves = batches.leaves(element)
    if len({id(model) for model in models}) != 1 or not optimizers or not leaves:
        raise NotAvailable("the loop's body calls no function, and its model was not found")
    model, optimizer, x = models[0], optimizers[0], leaves[0]

    def step() -> Any:
        with tf.GradientTape() as tape:
            outputs = model(x, training=True)
            loss = tf.add_n([tf.reduce_mean(tf.square(o)) for o in tf.nest.flatten(outputs)])
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss

    compiled: Callable[[], Any] = tf.function(step)
    return compiled
