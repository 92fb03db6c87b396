"""`fitdoctor.from_generator`: rows of a Python generator reach tf.data in chunks, not one by one.

    data = fitdoctor.from_generator(rows, output_signature=spec).shuffle(1000).batch(32)

Every element that tf.data fetches from Python costs some dozens of microseconds, however small it
is. Here some rows are collected in Python, cross at once, and are taken apart again in native code.
The elements are the same, in the same order.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# Enough that a crossing costs each of them next to nothing, and little to wait for.
MOST_ROWS = 64
MOST_BYTES = 1 << 20
# A generator that waits for its rows is not waited for until a chunk is full.
MOST_SECONDS = 0.01


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
    chunks = tf.data.Dataset.from_generator(
        lambda *given: chunked(generator(*given), output_signature, rows),
        args=args,
        output_signature=_of_many(tf, output_signature),
        name=name,
    )
    return chunks.unbatch()


def rows_in_one(tf: Any, signature: Any) -> int:
    """How many elements of a signature make a chunk; 1 where they cannot be collected."""
    specs = list(_leaves(signature))
    size = 0
    for spec in specs:
        if type(spec) is not tf.TensorSpec or not spec.shape.is_fully_defined():
            return 1
        size += spec.shape.num_elements() * spec.dtype.size
    if not specs:
        return 1
    return max(1, min(MOST_ROWS, MOST_BYTES // max(1, size)))


def chunked(elements: Any, signature: Any, rows: int) -> Iterator[Any]:
    """Some elements at a time, each leaf an array of them."""
    iterator = iter(elements)
    ended = False
    while not ended:
        collected: list[Any] = []
        error: BaseException | None = None
        begin = time.perf_counter()
        while len(collected) < rows:
            try:
                collected.append(next(iterator))
            except StopIteration:
                ended = True
                break
            except BaseException as raised:  # noqa: BLE001 - the user's, raised again below
                error = raised
                break
            if time.perf_counter() - begin > MOST_SECONDS:
                break
        if collected:
            yield _stacked(collected, signature)
        if error is not None:
            # What came before it was given, as it would have been one by one.
            raise error


def _leaves(signature: Any) -> Iterator[Any]:
    if isinstance(signature, dict):
        for key in signature:
            yield from _leaves(signature[key])
    elif isinstance(signature, (tuple, list)):
        for one in signature:
            yield from _leaves(one)
    else:
        yield signature


def _of_many(tf: Any, signature: Any) -> Any:
    """The signature of a chunk: one more dimension, of any size."""
    if isinstance(signature, dict):
        return {key: _of_many(tf, one) for key, one in signature.items()}
    if isinstance(signature, (tuple, list)):
        return tuple(_of_many(tf, one) for one in signature)
    return tf.TensorSpec([None, *signature.shape], signature.dtype, signature.name)


def _stacked(collected: list[Any], signature: Any) -> Any:
    if isinstance(signature, dict):
        return {
            key: _stacked([element[key] for element in collected], one)
            for key, one in signature.items()
        }
    if isinstance(signature, (tuple, list)):
        wrong = next((one for one in collected if len(one) != len(signature)), None)
        if wrong is not None:
            raise TypeError(
                f"from_generator: an element has {len(wrong)} parts, and output_signature "
                f"{len(signature)}"
            )
        columns = zip(*collected, strict=True)
        return tuple(
            _stacked(list(column), one) for column, one in zip(columns, signature, strict=True)
        )
    return _array(collected, signature)


def _array(values: list[Any], spec: Any) -> Any:
    numpy = sys.modules["numpy"]
    expected = (len(values), *spec.shape)
    try:
        array = numpy.array(values, dtype=spec.dtype.as_numpy_dtype)
    except ValueError:
        array = None  # of several shapes
    if array is None or array.shape != expected:
        wrong = next(
            (one for one in map(numpy.shape, values) if one != tuple(spec.shape)), tuple(spec.shape)
        )
        raise TypeError(
            f"from_generator: an element has shape {wrong}, and output_signature {spec.shape}"
        )
    return array
