"""Rows of a Python generator that cross into tf.data in chunks, and are taken apart again there."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from fitdoctor.inside.seams.backends import batches

# Enough that a crossing costs each of them next to nothing, and little to wait for.
MOST_ROWS = 64
MOST_BYTES = 1 << 20
# A generator that waits for its rows is not waited for until a chunk is full.
MOST_SECONDS = 0.01


def in_chunks(
    tf: Any,
    generator: Callable[..., Any],
    signature: Any,
    *,
    rows: int,
    args: Any = None,
    name: str | None = None,
) -> Any:
    """A dataset of the generator's elements, of which `rows` at a time cross into tf.data."""
    chunks = tf.data.Dataset.from_generator(
        lambda *given: chunked(generator(*given), signature, rows),
        args=args,
        output_signature=_of_many(tf, signature),
        name=name,
    )
    return chunks.unbatch()


def rows_in_one(tf: Any, signature: Any) -> int:
    """How many elements of a signature make a chunk; 1 where they cannot be collected."""
    specs = batches.leaves(signature)
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
