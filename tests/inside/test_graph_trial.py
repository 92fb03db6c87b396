"""A hand-written step as a graph: on real TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fitdoctor.inside.seams.models.traced_trials import GraphTrial

tf = pytest.importorskip("tensorflow")


def step_of(noise: Any, read=lambda loss: loss.numpy()):
    """One update of a weight, with something random beside it."""
    weight = tf.Variable(np.linspace(0, 1, 8, dtype="float32"))

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight * x - noise()) ** 2)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))
        return read(loss)

    return weight, step


# AutoGraph itself makes a cast of `float()`.
@pytest.mark.parametrize(("read", "count"), [(lambda loss: loss.numpy(), 1), (float, 0)])
def test_numbers_that_are_read_are_counted_and_the_patch_is_gone(read, count: int) -> None:
    _, step = step_of(lambda: 0.5, read)
    trial = GraphTrial(tf, step)
    x = tf.ones(8)
    for _ in range(3):
        trial(x)
    assert trial.numbers_read == count  # while it was traced
    symbolic = tf.function(lambda t: tf.constant(hasattr(t, "numpy") or hasattr(t, "__float__")))
    assert not bool(symbolic(x))


def test_the_same_steps_and_the_weights_as_they_were() -> None:
    weight, step = step_of(lambda: 0.5)
    trial = GraphTrial(tf, step)
    x = tf.ones(8)
    trial(x)
    before = weight.numpy()
    assert trial.same_as_eager((x,))
    assert weight.numpy().tobytes() == before.tobytes()


def test_random_numbers_from_another_state_are_not_the_same() -> None:
    weight, step = step_of(lambda: tf.random.normal((8,)))
    trial = GraphTrial(tf, step)
    x = tf.ones(8)
    trial(x)
    before = weight.numpy()
    assert not trial.same_as_eager((x,))
    assert weight.numpy().tobytes() == before.tobytes()
