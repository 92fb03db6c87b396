"""Every batch that reaches a training step, handed to a function, in order.

Only for the untimed runs that compare two scripts. On TensorFlow the compiled step takes its
batches itself, so the tap is an op beside the iterator's `get_next`; on JAX and torch it is a
wrapped Python iterator.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.watch.keras_trainer import TRAINERS

Tap = Callable[[Any], None]


def tap_python_iterators(recorder: Recorder, backend: str, tap: Tap, module: ModuleType) -> None:
    """Keras on JAX and torch: the iterator that the epoch's batches come from."""
    iterator_class = getattr(module, TRAINERS[backend][2])

    def get_iterator(original: Callable[[Any], Any], self: Any) -> Any:
        iterable = original(self)
        return _tapped(iterable, recorder, tap) if _is_tapped(recorder) else iterable

    recorder.patches.around(iterator_class, "_get_iterator", get_iterator)


def _tapped(iterable: Any, recorder: Recorder, tap: Tap) -> Iterator[Any]:
    for batch in iterable:
        # Before its first step Keras takes a batch to build the model from.
        if _is_in_steps(recorder):
            tap(batch)
        yield batch


def tap_tensorflow_iterators(recorder: Recorder, tap: Tap, module: ModuleType) -> None:
    """Keras on TensorFlow: an op beside `get_next`, traced into the step."""

    def get_next(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        element = original(*args, **kwargs)
        if _is_tapped(recorder) and _is_in_steps(recorder):
            _tap_tensors(element, tap)
        return element

    def get_next_as_optional(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        optional = original(*args, **kwargs)
        if _is_tapped(recorder) and _is_in_steps(recorder):
            import tensorflow as tf

            tf.cond(
                optional.has_value(),
                lambda: _tap_tensors(optional.get_value(), tap),
                lambda: tf.constant(0, tf.int64),
            )
        return optional

    recorder.patches.around(module.OwnedIterator, "get_next", get_next)
    recorder.patches.around(module.OwnedIterator, "get_next_as_optional", get_next_as_optional)


def _tap_tensors(element: Any, tap: Tap) -> Any:
    import tensorflow as tf

    tensors = [
        leaf
        for leaf in tf.nest.flatten(element, expand_composites=True)
        if isinstance(leaf, tf.Tensor) and leaf.dtype not in (tf.variant, tf.resource)
    ]
    if tf.executing_eagerly():
        tap([tensor.numpy() for tensor in tensors])
        return None

    def call(*arrays: Any) -> Any:
        tap(list(arrays))
        return sys.modules["numpy"].int64(0)

    # A stateful op of a traced function runs, in order, even where nobody uses its result.
    return tf.numpy_function(call, tensors, tf.int64)


def _is_tapped(recorder: Recorder) -> bool:
    call = recorder.active_call()
    return call is not None and call.kind == "fit" and not call.is_validation


def _is_in_steps(recorder: Recorder) -> bool:
    call = recorder.active_call()
    return call is not None and call.step_function is not None
