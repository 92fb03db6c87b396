"""TensorFlow's waits between epochs, which belong to neither script of a case.

When an epoch's tf.data iterator is let go, TensorFlow now and then waits for the timer of the
thread that tuned it: by chance, for up to several seconds. With epochs of half a second that
would be most of what is measured.
"""

from __future__ import annotations

import sys
import time
from typing import Any

TRAINER = "keras.src.backend.tensorflow.trainer"
CALLBACKS = "keras.src.callbacks.callback_list"


class IteratorWaits:
    """Adds up the waits, once Keras is there to be watched."""

    def __init__(self) -> None:
        """Nothing waited for yet."""
        self.seconds = 0.0
        self._asked: tuple[int, float] | None = None  # which iterator, and when
        self._first: dict[int, float] = {}  # the first change only makes one
        self._watching = False

    def watch(self) -> None:
        """Begin, if TensorFlow trains here."""
        trainer, callbacks = sys.modules.get(TRAINER), sys.modules.get(CALLBACKS)
        if self._watching or trainer is None or callbacks is None:
            return
        self._watching = True
        ask = trainer.TFEpochIterator._get_iterator
        begin = callbacks.CallbackList.on_train_batch_begin

        def get_iterator(iterator: Any) -> Any:
            self._asked = (id(iterator), time.perf_counter())
            return ask(iterator)

        def on_train_batch_begin(callback_list: Any, *args: Any, **kwargs: Any) -> None:
            if self._asked is not None:
                self._came(*self._asked, time.perf_counter())
                self._asked = None
            begin(callback_list, *args, **kwargs)

        trainer.TFEpochIterator._get_iterator = get_iterator
        callbacks.CallbackList.on_train_batch_begin = on_train_batch_begin

    def _came(self, iterator: int, asked: float, now: float) -> None:
        first = self._first.setdefault(iterator, now - asked)
        self.seconds += max(0.0, now - asked - first)
