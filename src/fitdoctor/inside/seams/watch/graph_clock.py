"""A clock inside TensorFlow's compiled step: how long it waits for its input.

Keras hands the iterator into the graph, so no Python code sees the wait. Two timestamp
ops around the iterator's `get_next` and one accumulating variable do, at the price of a
few microseconds; Python reads the variable about twice a second.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import PURPOSES

ITERATOR_MODULE = "tensorflow.python.data.ops.iterator_ops"


class GraphClock:
    """Accumulated seconds of input wait, apart for training and validation."""

    def __init__(self, recorder: Recorder) -> None:
        """Create nothing in TensorFlow yet: a script may still configure its devices."""
        self._recorder = recorder
        self._variables: dict[str, Any] = {}
        self._read: dict[str, float] = {}

    def watch(self, module: ModuleType) -> None:
        """Patch the two ways in which Keras's step takes an element."""
        replace = self._recorder.patches.replace
        for name in ("get_next", "get_next_as_optional"):
            replace(module.OwnedIterator, name, self._timed)
        self._recorder.read_graph_wait = self.read
        self._recorder.stop_graph_clock = self.stop

    def read(self, purpose: str) -> int | None:
        """Nanoseconds waited since the last read; None where the clock is not in the graph."""
        variable = self._variables.get(purpose)
        if variable is None:
            return None
        total = float(variable.numpy())
        before, self._read[purpose] = self._read.get(purpose, 0.0), total
        return max(0, int((total - before) * NS_PER_S))

    def stop(self) -> Callable[[], None]:
        """Leave out what the steps wait from now on; returns what counts again.

        Probes run the very steps that hold this clock.
        """
        before = {purpose: float(one.numpy()) for purpose, one in self._variables.items()}

        def start() -> None:
            for purpose, variable in self._variables.items():
                waited = float(variable.numpy()) - before.get(purpose, 0.0)
                self._read[purpose] = self._read.get(purpose, 0.0) + waited

        return start

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def get_next(iterator: Any, *args: Any, **kwargs: Any) -> Any:
            call = self._recorder.active_call()
            purpose = PURPOSES.get(call.kind) if call is not None else None
            if call is None or purpose is None:
                return original(iterator, *args, **kwargs)
            import tensorflow as tf

            if tf.executing_eagerly():  # run_eagerly=True: Python does see the wait
                begin = self._recorder.clock()
                try:
                    return original(iterator, *args, **kwargs)
                finally:
                    call.python_wait = call.wait_is_inside_step = True
                    call.wait += self._recorder.clock() - begin
            if tf.distribute.get_strategy().extended._num_replicas_in_sync != 1:
                return original(iterator, *args, **kwargs)
            return self._in_graph(tf, purpose, functools.partial(original, iterator))

        return get_next

    def _in_graph(self, tf: Any, purpose: str, get_next: Callable[[], Any]) -> Any:
        variable = self._variables.get(purpose)
        if variable is None:
            with tf.init_scope(), tf.device("CPU:0"):
                variable = tf.Variable(0.0, dtype=tf.float64, trainable=False)
            self._variables[purpose] = variable
        before = tf.timestamp()
        with tf.control_dependencies([before]):
            element = get_next()
        with tf.control_dependencies(tf.nest.flatten(element, expand_composites=True)):
            after = tf.timestamp()
        variable.assign_add(after - before)
        return element
