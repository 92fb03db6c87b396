"""Elements of a tf.data dataset as records, and back: by TensorFlow's own ops.

A scalar string is a record as it is. One tensor is stored by `tf.io.serialize_tensor`; several
are stored one by one, and their texts together as one tensor of texts. Type and shape come back
as they were, whatever they are, so nothing has to be known about them beforehand.
"""

from __future__ import annotations

from typing import Any


def not_storable(tf: Any, spec: Any) -> str:
    """Why elements of this spec cannot be stored; empty where they can."""
    for part in tf.nest.flatten(spec):
        if not isinstance(part, tf.TensorSpec):
            return f"its elements have a part that is no plain tensor ({type(part).__name__})"
        if part.dtype in (tf.resource, tf.variant):
            return f"its elements have a part of the type {part.dtype.name}"
    return ""


def is_record(tf: Any, spec: Any) -> bool:
    """Whether an element is one text, which a file of records holds as it is."""
    return isinstance(spec, tf.TensorSpec) and spec.dtype == tf.string and spec.shape.rank == 0


def as_records(tf: Any, dataset: Any) -> Any:
    """The dataset's elements as scalar strings, in the same order."""
    if is_record(tf, dataset.element_spec):
        return dataset

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def stored(*element: Any) -> Any:
        texts = [tf.io.serialize_tensor(part) for part in tf.nest.flatten(element)]
        return texts[0] if len(texts) == 1 else tf.io.serialize_tensor(tf.stack(texts))

    return dataset.map(stored, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)


def from_records(tf: Any, records: Any, spec: Any) -> Any:
    """The elements that `as_records` made records of, with the very same spec."""
    if is_record(tf, spec):
        return records
    parts = tf.nest.flatten(spec)

    def one(text: Any, part: Any) -> Any:
        return tf.ensure_shape(tf.io.parse_tensor(text, part.dtype), part.shape)

    @tf.autograph.experimental.do_not_convert  # type: ignore[untyped-decorator]
    def restored(record: Any) -> Any:
        if len(parts) == 1:
            return tf.nest.pack_sequence_as(spec, [one(record, parts[0])])
        texts = tf.unstack(tf.ensure_shape(tf.io.parse_tensor(record, tf.string), [len(parts)]))
        values = [one(text, part) for text, part in zip(texts, parts, strict=True)]
        return tf.nest.pack_sequence_as(spec, values)

    return records.map(restored, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
