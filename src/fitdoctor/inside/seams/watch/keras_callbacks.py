"""The list through which Keras calls all callbacks: their time, the edges of epochs and fits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.timed_callbacks import unwatch_callbacks, watch_callbacks

CALLBACK_LIST = "keras.src.callbacks.callback_list"


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
        watch_callbacks(self, call.workload, recorder.clock)
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
            unwatch_callbacks(self)
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
