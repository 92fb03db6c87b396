"""Keras's own seams, shared by the three backends: calls, `compile`, epoch iterators.

All are class-level patches of Keras 3.15; `tests/inside/test_seams.py` fails when
Keras moves one of them.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.contract.codec import decode_known
from fitdoctor.contract.records import EventDetail, WorkloadDetail
from fitdoctor.inside.ledger.callsite import user_place
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.seams.inputs.generators import timed_generator
from fitdoctor.inside.seams.inputs.timed import TimedIterable
from fitdoctor.inside.seams.models.clones import compile_arguments

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
        recorder.patches.replace(trainer, name, functools.partial(_recorded, recorder, name))
    iterator = getattr(module, iterator_name)
    recorder.patches.replace(iterator, "__init__", functools.partial(_captured_iterator, recorder))
    # TensorFlow consumes its iterator inside the compiled step; see GraphClock.
    make_iterator = (
        functools.partial(_asked_iterator, recorder)
        if backend == "tensorflow"
        else functools.partial(_timed_iterator, recorder, backend)
    )
    recorder.patches.replace(iterator, "_get_iterator", make_iterator)


def watch_compile(recorder: Recorder, module: ModuleType) -> None:
    """Record each `model.compile()`: one in a loop makes Keras trace everything again."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def compile_(model: Any, *args: Any, **kwargs: Any) -> Any:
            begin = recorder.clock()
            result = original(model, *args, **kwargs)
            if not recorder.suspended:
                recorder.compiled_with[model] = compile_arguments(original, args, kwargs)
                place = user_place(2)
                detail = EventDetail(
                    file=place.file if place else None,
                    line=place.line if place else None,
                    model=recorder.model_number(model),
                )
                recorder.event("compile_call", begin, recorder.clock() - begin, detail)
            return result

        return compile_

    recorder.patches.replace(module.Trainer, "compile", make)


def _recorded(recorder: Recorder, kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
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


def _captured_iterator(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        call = recorder.active_call()
        if call is not None and call.epoch_iterator is None:
            call.epoch_iterator = self
            call.source = timed_generator(self.data_adapter)

    return init


def _asked_iterator(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    """Note when Keras asks for the next epoch's data: the old iterator ends with it."""

    @functools.wraps(original)
    def get_iterator(self: Any) -> Any:
        call = recorder.active_call()
        if call is not None:
            call.iterator_asked = recorder.clock()
        return original(self)

    return get_iterator


def _timed_iterator(
    recorder: Recorder, backend: str, original: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_iterator(self: Any) -> Any:
        iterable = original(self)
        call = recorder.active_call()
        if call is None:
            return iterable
        call.python_wait = True
        call.wait_is_inside_step = backend == "jax"
        return TimedIterable(iterable, call, recorder.clock)

    return get_iterator
