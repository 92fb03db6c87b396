"""`fitdoctor.from_generator`: rows of a Python generator reach tf.data in chunks, not one by one.

    data = fitdoctor.from_generator(rows, output_signature=spec).shuffle(1000).batch(32)

Every element that tf.data fetches from Python costs some dozens of microseconds, however small it
is. Here some rows are collected in Python, cross at once, and are taken apart again in native code.
The elements are the same, in the same order.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.inputs.chunked_rows import in_chunks, rows_in_one


def from_generator(
    generator: Callable[..., Any],
    output_types: Any = None,
    output_shapes: Any = None,
    args: Any = None,
    output_signature: Any = None,
    name: str | None = None,
) -> Any:
    """`tf.data.Dataset.from_generator`: the same arguments, the same elements, less overhead.

    What cannot be collected (no `output_signature`, shapes that vary, ragged or sparse elements,
    elements of a megabyte) is left to TensorFlow's own.

    Args:
        generator: Returns an iterable of elements.
        output_types: As in TensorFlow, which is left to do it.
        output_shapes: As in TensorFlow, which is left to do it.
        args: Arguments of the generator.
        output_signature: Structure, types and shapes of one element.
        name: Of the tf.data operation.

    Returns:
        A `tf.data.Dataset`.

    Example:
        >>> data = fitdoctor.from_generator(rows, output_signature=spec)  # doctest: +SKIP
    """
    tf = importlib.import_module("tensorflow")
    rows = 1 if output_signature is None else rows_in_one(tf, output_signature)
    if rows < 2:
        given = {
            "output_types": output_types,
            "output_shapes": output_shapes,
            "args": args,
            "output_signature": output_signature,
            "name": name,
        }
        # TensorFlow warns of some of them, even if they are None.
        named = {key: value for key, value in given.items() if value is not None}
        return tf.data.Dataset.from_generator(generator, **named)
    return in_chunks(tf, generator, output_signature, rows=rows, args=args, name=name)
