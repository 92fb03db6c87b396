"""The frozen batch as a dataset: the user's element spec, the same tensors, and no generator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fitdoctor.inside.seams.backends.tensorflow import endless
from fitdoctor.inside.seams.inputs import tf_stages

tf = pytest.importorskip("tensorflow")


@pytest.mark.parametrize(
    "dataset",
    [
        lambda: tf.data.Dataset.range(10).batch(4),
        lambda: tf.data.Dataset.from_tensor_slices((np.ones((10, 3), "f4"), np.arange(10))).batch(
            4
        ),
        lambda: tf.data.Dataset.from_tensor_slices({"a": ["x", "yy", "z"], "b": [1, 2, 3]}).batch(
            2
        ),
        lambda: tf.data.Dataset.from_tensor_slices(
            ((np.ones((6, 2)), np.zeros(6)), np.ones(6))
        ).batch(3, drop_remainder=True),
        lambda: tf.data.Dataset.from_tensors(np.float32(3.0)),
    ],
)
def test_the_same_batch_with_the_same_spec(dataset: Any) -> None:
    made = dataset()
    batch = next(iter(made))
    again = endless(tf, batch, made.element_spec)
    assert again.element_spec == made.element_spec
    ops = [stage.op for stage in tf_stages.walk(again)]
    assert not any("enerator" in op for op in ops)
    for found in again.take(3):
        tf.nest.assert_same_structure(found, batch)
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(batch), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_ragged_batches_still_work() -> None:
    made = tf.data.Dataset.from_tensors(tf.ragged.constant([[1, 2], [3]]))
    batch = next(iter(made))
    again = endless(tf, batch, made.element_spec)
    assert again.element_spec == made.element_spec
    assert next(iter(again)).to_list() == [[1, 2], [3]]
