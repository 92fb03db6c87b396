"""Keras's own seams, shared by the three backends: calls, callback lists, epoch iterators.

All are class-level patches of Keras 3.15; `tests/recorder/test_seams.py` fails when
Keras moves one of them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

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
CALLBACK_LIST = "keras.src.callbacks.callback_list"
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
                recorder.event(
                    "compile_call",
                    begin,
                    recorder.clock() - begin,
                    file=place.file if place else None,
                    line=place.line if place else None,
                    model=recorder.model_number(model),
                )
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
                _tell_model(recorder, model)
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


def _tell_model(recorder: Recorder, model: Any) -> None:
    """Once for each model that was trained: what tells two models of the same build."""
    number = recorder.model_number(model)
    if number in recorder.told_models:
        return
    recorder.told_models.add(number)
    try:
        layers = [type(layer).__name__ for layer in model.layers]
        build = [*layers, *(tuple(weight.shape) for weight in model.weights)]
    except Exception:  # noqa: BLE001 - a model that was never built has no weights to tell of
        return
    recorder.event("model", recorder.clock(), 0, model=number, build=str(build)[:MOST_BUILD])


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


def _describe(recorder: Recorder, model: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """What the report may say about a call without looking at the data."""
    x = arguments.get("x")
    return {
        "backend": recorder.backend,
        "model": type(model).__name__,
        "model_number": recorder.model_number(model),
        "input": f"{type(x).__module__}.{type(x).__qualname__}",
        "epochs": _plain(arguments.get("epochs", 1)),
        "batch_size": _plain(arguments.get("batch_size")),
        "steps_per_epoch": _plain(arguments.get("steps_per_epoch")),
        "validation": bool(
            arguments.get("validation_data") is not None or arguments.get("validation_split")
        ),
        "validation_freq": _plain(arguments.get("validation_freq", 1)),
        "run_eagerly": _plain(getattr(model, "run_eagerly", None)),
        "jit_compile": _plain(getattr(model, "jit_compile", None)),
        "steps_per_execution": _plain(getattr(model, "steps_per_execution", None)),
    }


def _plain(value: Any) -> int | float | str | bool | None:
    return value if isinstance(value, int | float | str | bool | None) else str(value)


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


# -- callback lists ----------------------------------------------------------------


def watch_callback_list(recorder: Recorder, module: ModuleType) -> None:
    """Patch the list that calls all callbacks: totals on the training thread, and its edges."""
    callback_list = module.CallbackList
    replace = recorder.patches.replace
    for name in ("on_train_batch_begin", "on_train_batch_end"):
        replace(callback_list, name, functools.partial(_timed_batch_hook, recorder))
    replace(callback_list, "on_epoch_begin", functools.partial(_epoch_begin, recorder))
    replace(callback_list, "on_epoch_end", functools.partial(_epoch_end, recorder))
    replace(callback_list, "on_train_begin", functools.partial(_train_begin, recorder))
    replace(callback_list, "on_train_end", functools.partial(_train_end, recorder))
    for name in ("on_test_begin", "on_predict_begin"):
        replace(callback_list, name, functools.partial(_other_begin, recorder))


def _timed_batch_hook(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    clock = recorder.clock

    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = recorder.active_call()
        if call is None:
            return original(self, *args, **kwargs)
        begin = clock()
        result = original(self, *args, **kwargs)
        call.callbacks += clock() - begin
        return result

    return hook


def _epoch_begin(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = recorder.active_call()
        if call is None:
            return original(self, *args, **kwargs)
        call.begin_epoch()
        return _in_epoch_callbacks(recorder, call, original, self, args, kwargs)

    return hook


def _epoch_end(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = recorder.active_call()
        if call is None:
            return original(self, *args, **kwargs)
        return _in_epoch_callbacks(recorder, call, original, self, args, kwargs)

    return hook


def _in_epoch_callbacks(
    recorder: Recorder,
    call: Call,
    original: Callable[..., Any],
    self: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    begin = recorder.clock()
    result = original(self, *args, **kwargs)
    call.epoch_callbacks += recorder.clock() - begin
    return result


def _train_begin(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = recorder.active_call()
        if call is None or call.kind != "fit":
            return original(self, *args, **kwargs)
        # `fit` has just made its step function and has not called it yet.
        call.watch_steps()
        call.watch_callbacks(self)
        return _in_epoch_callbacks(recorder, call, original, self, args, kwargs)

    return hook


def _train_end(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = recorder.active_call()
        if call is None or call.kind != "fit":
            return original(self, *args, **kwargs)
        try:
            return _in_epoch_callbacks(recorder, call, original, self, args, kwargs)
        finally:
            call.unwatch_callbacks(self)
            call.release()

    return hook


def _other_begin(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = recorder.active_call()
        if call is not None and call.kind in ("evaluate", "predict"):
            call.watch_steps()
        return original(self, *args, **kwargs)

    return hook
