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


# What happens to a call before or after its callbacks are called.
_Edge = Callable[[Call, Any], None]


def watch_callback_list(recorder: Recorder, module: ModuleType) -> None:
    """Patch the list that calls all callbacks: totals on the training thread, and its edges."""
    callback_list, patches = module.CallbackList, recorder.patches
    for name in ("on_train_batch_begin", "on_train_batch_end"):
        patches.replace(callback_list, name, functools.partial(_timed_batch_hook, recorder))
    edges: dict[str, tuple[_Edge, _Edge]] = {
        "on_epoch_begin": (lambda call, _: call.begin_epoch(), _nothing),
        "on_epoch_end": (_nothing, _nothing),
        "on_train_begin": (_begin_fit, _nothing),
        "on_train_end": (_nothing, _end_fit),
    }
    for name, (before, after) in edges.items():
        patches.around(callback_list, name, functools.partial(_edge_hook, recorder, before, after))
    for name in ("on_test_begin", "on_predict_begin"):
        patches.around(callback_list, name, functools.partial(_other_begin, recorder))


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


def _edge_hook(
    recorder: Recorder,
    before: _Edge,
    after: _Edge,
    original: Callable[..., Any],
    self: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    call = recorder.active_call()
    if call is None or call.kind != "fit":
        return original(self, *args, **kwargs)
    before(call, self)
    begin = recorder.clock()
    try:
        result = original(self, *args, **kwargs)
        call.epoch_callbacks += recorder.clock() - begin
    finally:
        after(call, self)
    return result


def _nothing(call: Call, callback_list: Any) -> None:
    pass


def _begin_fit(call: Call, callback_list: Any) -> None:
    # `fit` has just made its step function and has not called it yet.
    call.watch_steps()
    watch_callbacks(callback_list, call.workload, call.recorder.clock)


def _end_fit(call: Call, callback_list: Any) -> None:
    unwatch_callbacks(callback_list)
    call.release()


def _other_begin(
    recorder: Recorder, original: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    call = recorder.active_call()
    if call is not None and call.kind in ("evaluate", "predict"):
        call.watch_steps()
    return original(*args, **kwargs)
