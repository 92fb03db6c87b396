"""One batch over and over as a tf.data dataset, with the element spec of the user's own."""

from __future__ import annotations

from typing import Any


def endless(tf: Any, batch: Any, spec: Any) -> Any:
    """The batch forever; no shape is better known than in `spec`, so that nothing is traced again.

    Not from a generator: at the first one TensorFlow tells malloc, for the whole process, to give
    every large buffer back at once. Reading small files after that took 2.4 times as long.
    """
    tensors, wanted = tf.nest.flatten(batch), tf.nest.flatten(spec)
    plain = all(isinstance(one, tf.TensorSpec) for one in wanted)
    if not plain or not all(tf.is_tensor(one) for one in tensors):
        made = tf.data.Dataset.from_generator(lambda: iter([batch]), output_signature=spec)
        return made.cache().repeat()

    def with_spec(*values: Any) -> Any:
        # The op is for this: a value whose shape is known only as far as it says.
        relaxed = [
            tf.raw_ops.PlaceholderWithDefault(input=value, shape=one.shape)
            for value, one in zip(values, wanted, strict=True)
        ]
        return tf.nest.pack_sequence_as(spec, relaxed)

    return tf.data.Dataset.from_tensors(tuple(tensors)).map(with_spec).cache().repeat()
