"""Keras's own seams, shared by the three backends: calls, `compile`, epoch iterators.

All are class-level patches of Keras 3.15; `tests/inside/test_seams.py` fails when
Keras moves one of them.
"""

from __future__ import annotations

import functools
import inspect
import operator
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.codec import decode_known
from fitdoctor.contract.records import EventDetail, WorkloadDetail
from fitdoctor.inside.ledger.callsite import user_place
from fitdoctor.inside.ledger.enclosing_loop import enclosing_loop
from fitdoctor.inside.ledger.iterator_changes import waited_for_iterator
from fitdoctor.inside.ledger.recorder import Clock, Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.inputs.generators import timed_generator

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call

CALLS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
TRAINERS = {
    "tensorflow": ("keras.src.backend.tensorflow.trainer", "TensorFlowTrainer", "TFEpochIterator"),
    "jax": ("keras.src.backend.jax.trainer", "JAXTrainer", "JAXEpochIterator"),
    "torch": ("keras.src.backend.torch.trainer", "TorchTrainer", "TorchEpochIterator"),
}
BASE_TRAINER = "keras.src.trainers.trainer"

# Characters of a model's description; two large models that begin alike are alike enough.
MOST_BUILD = 2000


def watch_trainer(recorder: Recorder, backend: str, module: ModuleType) -> None:
    """Patch one backend's trainer and epoch iterator."""
    _, trainer_name, iterator_name = TRAINERS[backend]
    trainer = getattr(module, trainer_name)
    for name in CALLS:
        recorder.patches.replace(trainer, name, functools.partial(recorded, recorder, name))
    iterator = getattr(module, iterator_name)
    around = recorder.patches.around
    around(iterator, "__init__", functools.partial(_captured_iterator, recorder))
    # TensorFlow consumes its iterator inside the compiled step; see GraphClock.
    get_iterator = _asked_iterator if backend == "tensorflow" else _timed_iterator
    around(iterator, "_get_iterator", functools.partial(get_iterator, recorder))


def watch_compile(recorder: Recorder, module: ModuleType) -> None:
    """Record each `model.compile()`: one in a loop makes Keras trace everything again."""
    signature = inspect.signature(module.Trainer.compile)

    def compile_(original: Callable[..., Any], model: Any, *args: Any, **kwargs: Any) -> Any:
        begin = recorder.clock()
        result = original(model, *args, **kwargs)
        if not recorder.suspended:
            recorder.compiled_with[model] = _arguments(signature, model, args, kwargs)
            place = user_place(3)
            detail = EventDetail(
                file=place.file if place else None,
                line=place.line if place else None,
                model=recorder.model_number(model),
            )
            recorder.event("compile_call", begin, recorder.clock() - begin, detail)
        return result

    recorder.patches.around(module.Trainer, "compile", compile_)


def recorded(recorder: Recorder, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
    """The call with its ledger around it."""
    signature = inspect.signature(original)

    @functools.wraps(original)
    def method(model: Any, *args: Any, **kwargs: Any) -> Any:
        if recorder.suspended:
            return original(model, *args, **kwargs)
        call = _open_call(recorder, kind, model, signature, args, kwargs)
        recorder.calls.append(call)
        try:
            result = original(model, *args, **kwargs)
        finally:
            if kind == "fit":
                _describe_model(recorder, model)
            recorder.calls.remove(call)
            call.close()
        if recorder.on_result is not None:
            recorder.on_result(call, result)
        # Only a call that ended well is examined; a failing one raises as it would.
        if recorder.listener is not None and not call.is_validation:
            recorder.listener.on_call_end(call)
        call.forget()
        return result

    return method


def _describe_model(recorder: Recorder, model: Any) -> None:
    """Once for each model that was trained: how two models of the same build are known."""
    number = recorder.model_number(model)
    if number in recorder.described_models:
        return
    recorder.described_models.add(number)
    try:
        layers = [type(layer).__name__ for layer in model.layers]
        build = [*layers, *(tuple(weight.shape) for weight in model.weights)]
    except Exception:  # noqa: BLE001 - a model that was never built has no weights
        return
    detail = EventDetail(model=number, build=str(build)[:MOST_BUILD])
    recorder.event("model", recorder.clock(), 0, detail)


def _open_call(
    recorder: Recorder,
    kind: str,
    model: Any,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Call:
    begin = recorder.clock()
    parent = recorder.calls[-1] if recorder.calls else None
    arguments = _arguments(signature, model, args, kwargs)
    is_validation = parent is not None and bool(arguments.get("_use_cached_eval_dataset"))
    if parent is not None and is_validation:
        # Part of the fit that it validates, not a workload of its own.
        return Call(recorder, parent.workload, kind, model, arguments, parent, begin)
    workload = recorder.workload(kind, user_place(3), lambda: _describe(recorder, model, arguments))
    if not workload.calls:
        workload.is_in_loop = enclosing_loop(sys._getframe(2)) is not None
    return Call(recorder, workload, kind, model, arguments, parent, begin)


def _arguments(
    signature: inspect.Signature, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    try:
        bound = signature.bind_partial(model, *args, **kwargs)
    except TypeError:  # the call itself will raise, with Keras's own words
        return {}
    arguments = dict(bound.arguments)
    arguments.pop("self", None)
    arguments.update(arguments.pop("kwargs", {}))
    return arguments


def _describe(recorder: Recorder, model: Any, arguments: dict[str, Any]) -> WorkloadDetail:
    """What the report may say about a call without looking at the data.

    A value of another type than Keras documents is left out.
    """
    x = arguments.get("x")
    return decode_known(
        WorkloadDetail,
        {
            "backend": recorder.backend,
            "model": type(model).__name__,
            "model_number": recorder.model_number(model),
            "input": f"{type(x).__module__}.{type(x).__qualname__}",
            "epochs": _whole(arguments.get("epochs", 1)),
            "batch_size": _whole(arguments.get("batch_size")),
            "steps_per_epoch": _whole(arguments.get("steps_per_epoch")),
            "validation": bool(
                arguments.get("validation_data") is not None or arguments.get("validation_split")
            ),
            "validation_freq": _whole(arguments.get("validation_freq", 1)),
            "run_eagerly": getattr(model, "run_eagerly", None),
            "jit_compile": getattr(model, "jit_compile", None),
            "steps_per_execution": _whole(getattr(model, "steps_per_execution", None)),
        },
    )


def _whole(value: Any) -> int | None:
    """A number of NumPy counts too; a list, as `validation_freq` may be, does not."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def _captured_iterator(
    recorder: Recorder, original: Callable[..., None], self: Any, *args: Any, **kwargs: Any
) -> None:
    original(self, *args, **kwargs)
    call = recorder.active_call()
    if call is not None and call.epoch_iterator is None:
        call.epoch_iterator = self
        call.source = timed_generator(self.data_adapter)


def _asked_iterator(recorder: Recorder, original: Callable[[Any], Any], self: Any) -> Any:
    """Note when Keras asks for the next epoch's data: the old iterator ends with it."""
    call = recorder.active_call()
    if call is not None:
        call.iterator_asked = recorder.clock()
    return original(self)


def _timed_iterator(recorder: Recorder, original: Callable[[Any], Any], self: Any) -> Any:
    iterable = original(self)
    call = recorder.active_call()
    if call is None:
        return iterable
    call.python_wait = True
    call.wait_is_inside_step = recorder.backend == "jax"
    return TimedIterable(iterable, call, recorder.clock)


class TimedIterable:
    """An iterable whose every `next` is added to the call's input wait."""

    def __init__(self, iterable: Any, call: Call, clock: Clock) -> None:
        """Stand in for what Keras is about to call `iter` on."""
        self._iterable = iterable
        self._call = call
        self._clock = clock

    def __iter__(self) -> Iterator[Any]:
        return _TimedIterator(self._iterable, self._call, self._clock)


class _TimedIterator:
    __slots__ = ("_call", "_clock", "_iterable", "_made", "_next")

    def __init__(self, iterable: Any, call: Call, clock: Clock) -> None:
        begin = clock()
        self._iterable = iterable  # keeps a DataLoader's workers alive
        self._next = iter(iterable).__next__
        self._call = call
        self._clock = clock
        self._made: int | None = clock()
        call.wait += self._made - begin

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        clock = self._clock
        begin = clock()
        if self._made is not None:
            # Between being made and the first batch, Keras lets go of the epoch's before.
            waited_for_iterator(self._call, begin - self._made, begin)
            self._made = None
        try:
            batch = self._next()
        finally:
            self._call.wait += clock() - begin
        # A reference, not a copy: the frozen-batch probe needs one real batch.
        self._call.last_batch = batch
        return batch
