"""Every batch that reaches a training step, handed to a function, in order.

Only for the untimed runs that compare two scripts. On TensorFlow the compiled step takes its
batches itself, so the tap is an op beside the iterator's `get_next`; on JAX and torch it is a
wrapped Python iterator.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.watch.keras_trainer import TRAINERS

Tap = Callable[[Any], None]
_TAPPED = ("fit",)


def tap_python_iterators(recorder: Recorder, backend: str, tap: Tap, module: ModuleType) -> None:
    """Keras on JAX and torch: the iterator that the epoch's batches come from."""
    iterator_class = getattr(module, TRAINERS[backend][2])

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def get_iterator(self: Any) -> Any:
            iterable = original(self)
            if not _is_tapped(recorder):
                return iterable
            return _TappedIterable(iterable, recorder, tap)

        return get_iterator

    recorder.patches.replace(iterator_class, "_get_iterator", make)


class _TappedIterable:
    def __init__(self, iterable: Any, recorder: Recorder, tap: Tap) -> None:
        self._iterable = iterable
        self._recorder = recorder
        self._tap = tap

    def __iter__(self) -> Iterator[Any]:
        for batch in self._iterable:
            # Before its first step Keras takes a batch to build the model from.
            if _is_in_steps(self._recorder):
                self._tap(batch)
            yield batch


def tap_tensorflow_iterators(recorder: Recorder, tap: Tap, module: ModuleType) -> None:
    """Keras on TensorFlow: an op beside `get_next`, traced into the step."""

    def next_value(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def get_next(iterator: Any, *args: Any, **kwargs: Any) -> Any:
            element = original(iterator, *args, **kwargs)
            if _is_tapped(recorder) and _is_in_steps(recorder):
                _tap_tensors(element, tap)
            return element

        return get_next

    def next_optional(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def get_next_as_optional(iterator: Any, *args: Any, **kwargs: Any) -> Any:
            optional = original(iterator, *args, **kwargs)
            if _is_tapped(recorder) and _is_in_steps(recorder):
                import tensorflow as tf

                tf.cond(
                    optional.has_value(),
                    lambda: _tap_tensors(optional.get_value(), tap),
                    lambda: tf.constant(0, tf.int64),
                )
            return optional

        return get_next_as_optional

    recorder.patches.replace(module.OwnedIterator, "get_next", next_value)
    recorder.patches.replace(module.OwnedIterator, "get_next_as_optional", next_optional)


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
    return call is not None and call.kind in _TAPPED and not call.is_validation


def _is_in_steps(recorder: Recorder) -> bool:
    call = recorder.active_call()
    return call is not None and call.step_function is not None
