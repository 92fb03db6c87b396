"""Writes down what a training learned from and what it learned, step by step.

Two scripts that write the same have trained the same. Used in untimed runs of their own:
every batch is hashed, every loss is read.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from typing import Any

from fitdoctor.contract.learning import (
    NAMES,
    Batch,
    LearningEnd,
    LearningRecord,
    Loss,
    NoWeights,
    Output,
)
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.options import LearningOptions
from fitdoctor.contract.writer import record_of
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.proof.fingerprint import as_array, fingerprint
from fitdoctor.inside.proof.step_limit import StepCount, end_script
from fitdoctor.inside.proof.weights import HandedWeights, models_found, weights_now
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.not_available import NotAvailable

KEPT_OUTPUTS = 4096  # numbers of a prediction that are kept to tell close from different
_GIVEN = ("x", "y", "sample_weight")


class EveryStep(Recorder):
    """A recorder that asks its listener after every step instead of twice a second."""

    def due_after(self, now: int) -> int:
        """At once."""
        return 0


class LearningWatch:
    """The recorder's listener while data and learning are compared."""

    examines = False

    def __init__(self, recorder: Recorder, options: LearningOptions) -> None:
        """Stop after so many steps; weights go to the file `options.weights` (.npz)."""
        self._recorder = recorder
        self._steps = options.steps
        self._limit_ns = int(options.seconds * NS_PER_S)
        self._weights = options.weights
        self._begin: int | None = None
        self._count = StepCount(recorder)
        self._lock = threading.Lock()
        self._batches = 0
        self._tapped = 0  # in the fit that runs now
        self._outputs: list[Any] = []
        self._model: Any = None
        self._is_over = False
        self.handed = HandedWeights()
        self._last_function_call: tuple[Any, Any, Any] | None = None
        self._digest_before: str | None = None  # of the variables of a loop's models

    # -- data ----------------------------------------------------------------------

    def tap(self, batch: Any) -> None:
        """A batch has reached the step; called by any thread, in order."""
        self._tapped += 1
        self._write_batch(fingerprint(batch))

    def _write(self, record: LearningRecord) -> None:
        self._recorder.writer.write(record_of(NAMES[type(record)], record))

    def _write_batch(self, found: Batch | None) -> None:
        if found is None:
            return
        with self._lock:
            # The loader may be ahead: what no compared step sees is not compared.
            if self._batches < self._steps:
                self._batches += 1
                self._write(found)

    # -- what the recorder calls ---------------------------------------------------

    def on_boundary(self, call: Call, arguments: tuple[Any, ...], result: Any) -> None:
        if len(self._recorder.calls) != 1 or call.kind != "fit":
            return
        steps = self._count.during(call, self._tapped)
        logs = result[0] if isinstance(result, tuple) and len(result) == 2 else result
        self._write_loss(steps, logs)
        self._end_if_done(steps, call.model, result)

    def on_result(self, call: Call, result: Any) -> None:
        """A call has returned this to the script."""
        if self._recorder.calls or call.is_validation or call.kind == "fit":
            return
        given = [call.arguments[name] for name in _GIVEN if name in call.arguments]
        if all(as_array(leaf) is not None for leaf in batches.leaves(given)):
            self._write_batch(fingerprint(batches.map_leaves(_in_keras_float_type, given)))
        if call.kind.startswith("predict"):
            self._keep_output(result)
        else:
            self._write_loss(self._count.total + (call.steps or 1), result)

    def on_call_end(self, call: Call) -> None:
        if not self._recorder.calls:
            self._count.closed(call, self._tapped)
            self._tapped = 0
            self._end_if_done(self._count.total, call.model, None)

    def on_loop_boundary(self, loop: Loop) -> None:
        self._count.iterated(loop)
        self._last_function_call = loop.last_function_call
        self._write_batch(fingerprint(_element(loop)))
        self._end_if_done(self._count.learned, None, None)

    # -- losses, outputs, weights --------------------------------------------------

    def _write_loss(self, steps: int, logs: Any) -> None:
        value = logs.get("loss") if isinstance(logs, dict) else logs
        leaves = batches.leaves(value)
        array = as_array(leaves[0]) if leaves else None
        if array is not None and array.size == 1:
            loss = float(array.reshape(()))
            self._write(Loss(steps, loss.hex()))

    def _keep_output(self, result: Any) -> None:
        kept = sum(int(array.size) for array in self._outputs)
        for leaf in batches.leaves(result):
            array = as_array(leaf)
            if array is None:
                continue
            found = fingerprint([array])
            if found is not None:
                self._write(Output(found.digest))
            if kept < KEPT_OUTPUTS and array.dtype != object:
                self._outputs.append(array.ravel()[: KEPT_OUTPUTS - kept])
                kept += int(self._outputs[-1].size)

    def _end_if_done(self, steps: int, model: Any, result: Any) -> None:
        now = self._recorder.clock()
        if self._begin is None:
            self._begin = now
            self._digest_before = self._digest() if model is None else None
            # Registered now, so that it runs before what the backend does at exit.
            atexit.register(self._on_exit, os.getpid())
        self._model = model if model is not None else self._model
        if steps >= self._steps or now - self._begin >= self._limit_ns:
            self._finish(steps, result)
            end_script(self._recorder)

    def _on_exit(self, process: int) -> None:
        """The script came to its own end before the limit."""
        failed = getattr(sys, "last_type", None) is not None
        if not self._is_over and not failed and os.getpid() == process:
            self._finish(self._count.learned, None)

    def _finish(self, steps: int, result: Any) -> None:
        self._is_over = True
        try:
            arrays = self._arrays(result)
        except NotAvailable as error:
            self._write(NoWeights(str(error)))
            arrays = {}
        if self._outputs:
            # What was predicted, under a name that no variable has.
            arrays["~outputs"] = sys.modules["numpy"].concatenate(self._outputs)
        if arrays:
            sys.modules["numpy"].savez(self._weights, **_storable(arrays))
        self._write(LearningEnd(steps))

    def _arrays(self, result: Any) -> dict[str, Any]:
        if self._model is not None:
            return weights_now(self._model, result)
        models = models_found()
        if not models:
            raise NotAvailable("no built Keras model was found")
        if self._recorder.backend != "jax":
            return _of_all(models)
        handed = self.handed.of(models, self._last_function_call)
        if not handed and self._digest() == self._digest_before:
            raise NotAvailable("the loop keeps its weights where they were not found")
        return handed or _of_all(models)

    def _digest(self) -> str | None:
        """Of the variables of all models, which only a JAX loop may leave as they are."""
        if self._recorder.backend != "jax":
            return None
        found = fingerprint(list(_of_all(models_found()).values()))
        return found.digest if found is not None else None


def _of_all(models: list[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for model in models:
        for name, value in weights_now(model, None).items():
            found[f"{model.name}:{name}"] = value
    return found


def _element(loop: Loop) -> Any:
    """What one iteration worked on: the loader's element, or the arguments of its step."""
    if loop.last_element is not None:
        return loop.last_element
    if loop.last_function_call is None:
        return None
    _, args, kwargs = loop.last_function_call
    return [args, kwargs]


def _in_keras_float_type(leaf: Any) -> Any:
    """Arrays that go through Keras's data adapters arrive in its float type; these count so too."""
    array = as_array(leaf)
    keras = sys.modules.get("keras")
    if keras is None or array.dtype.kind != "f":
        return array
    return array.astype(keras.config.floatx())


def _storable(arrays: dict[str, Any]) -> dict[str, Any]:
    """Names may hold slashes, which a zip archive takes for folders: numbered instead."""
    numpy = sys.modules["numpy"]
    names = numpy.array(list(arrays), dtype=str)
    return {"names": names, **{f"a{i}": value for i, value in enumerate(arrays.values())}}
