"""Keras 2 (`tf_keras`, or `tensorflow.keras` with TF_USE_LEGACY_KERAS=1): its steps and waits.

Its `fit` makes the step function and calls its callbacks as Keras 3 does on TensorFlow, so the
ledger is the same. Probes are not run: they ask Keras 3 for its layers, state and data.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.contract.records import KerasFacts
from fitdoctor.contract.writer import record_of
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.watch.graph_clock import ITERATOR_MODULE
from fitdoctor.inside.seams.watch.keras_callbacks import watch_callback_list
from fitdoctor.inside.seams.watch.keras_trainer import CALLS, recorded

TRAINING_MODULE = "tf_keras.src.engine.training"
CALLBACKS_MODULE = "tf_keras.src.callbacks"
NOTE = (
    "this script trains with Keras 2 (tf_keras): fitdoctor sees its steps, callbacks and waits for "
    "data; probes, layers and tried cures need Keras 3"
)


def watch_training(recorder: Recorder, module: ModuleType) -> None:
    """Patch the calls of the one class that trains, and how its step takes an element."""
    for name in CALLS:
        recorder.patches.replace(module.Model, name, functools.partial(recorded, recorder, name))
    iterators = sys.modules[ITERATOR_MODULE]
    recorder.patches.around(
        iterators.OwnedIterator, "__next__", functools.partial(_next_in_graph, recorder)
    )


def watch_callbacks_of_keras2(recorder: Recorder, module: ModuleType) -> None:
    """Patch the list that calls all callbacks; a first fit says what is not seen."""
    watch_callback_list(recorder, module)
    told: list[bool] = []

    def on_train_begin(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if not told:
            told.append(True)
            _on_first_fit(recorder)
        return original(*args, **kwargs)

    recorder.patches.around(module.CallbackList, "on_train_begin", on_train_begin)


def _next_in_graph(recorder: Recorder, original: Callable[[Any], Any], iterator: Any) -> Any:
    """Keras 2 takes the next element by `next`, where the clock in the graph knows `get_next`."""
    call = recorder.active_call()
    if call is None or sys.modules["tensorflow"].executing_eagerly():
        return original(iterator)
    return iterator.get_next()


def _on_first_fit(recorder: Recorder) -> None:
    recorder.backend = "tensorflow"
    facts = KerasFacts(
        version=str(getattr(sys.modules.get("tf_keras"), "__version__", "unknown")),
        backend="tensorflow",
        backend_version=str(sys.modules["tensorflow"].__version__),
    )
    recorder.writer.write(record_of("keras", facts))
    recorder.note("info", NOTE)
    listener: Any = recorder.listener
    if hasattr(listener, "examines"):
        listener.examines = False
