"""Timing callbacks by name without changing what Keras decides about them."""

from __future__ import annotations

from typing import Any

from fitdoctor.inside.ledger.recorder import Clock
from fitdoctor.inside.ledger.workload import Workload

TIMED_HOOKS = {
    "on_train_batch_begin": "batch",
    "on_train_batch_end": "batch",
    "on_epoch_begin": "epoch",
    "on_epoch_end": "epoch",
    "on_train_begin": "train",
    "on_train_end": "train",
}


class TimedCallback:
    """Stands in for one callback inside Keras's list while a fit runs.

    The user's object is never written to. Keras has already decided, from the real
    objects, whether batch hooks may be dispatched asynchronously; standing in only
    afterwards keeps that decision.
    """

    def __init__(self, wrapped: Any, workload: Workload, clock: Clock) -> None:
        """Time the hooks that the callback overrides; pass the others straight on."""
        self.wrapped = wrapped
        name = type(wrapped).__name__
        for hook, group in TIMED_HOOKS.items():
            method = getattr(wrapped, hook)
            if _is_overridden(wrapped, hook):
                file, line = _place_of(wrapped, hook)
                totals = workload.callbacks.setdefault((name, group), [0, 0, file, line])
                method = _timed(method, totals, clock, counts=not hook.endswith("begin"))
            vars(self)[hook] = method

    def __getattr__(self, name: str) -> Any:
        return getattr(self.wrapped, name)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self.wrapped)


def watch_callbacks(callback_list: Any, workload: Workload, clock: Clock) -> None:
    """Time the user's callbacks by name; `unwatch_callbacks` puts their objects back."""
    callback_list.callbacks = [
        one if isinstance(one, TimedCallback) else TimedCallback(one, workload, clock)
        for one in callback_list.callbacks
    ]


def unwatch_callbacks(callback_list: Any) -> None:
    """Put the user's own callback objects back into the list."""
    callback_list.callbacks = [
        one.wrapped if isinstance(one, TimedCallback) else one for one in callback_list.callbacks
    ]


def _timed(method: Any, totals: list[Any], clock: Clock, *, counts: bool) -> Any:
    def hook(*args: Any, **kwargs: Any) -> Any:
        begin = clock()
        try:
            return method(*args, **kwargs)
        finally:
            totals[1] += clock() - begin
            totals[0] += counts

    return hook


_BATCH_ALIASES = {"on_train_batch_begin": "on_batch_begin", "on_train_batch_end": "on_batch_end"}


def _is_overridden(callback: Any, hook: str) -> bool:
    """Whether a hook does anything: Keras's base class defines all of them as no-ops."""
    return any(not _is_base(function) for function in _functions(callback, hook))


def _functions(callback: Any, hook: str) -> list[Any]:
    """The plain functions of a hook: its own, and the older name Keras forwards to."""
    names = [name for name in (hook, _BATCH_ALIASES.get(hook)) if name]
    methods = [getattr(callback, name) for name in names if hasattr(callback, name)]
    return [getattr(method, "__func__", method) for method in methods]


def _is_base(function: Any) -> bool:
    module = str(getattr(function, "__module__", ""))
    if module == "tf_keras.src.callbacks":  # Keras 2 has all callbacks in one module
        return str(getattr(function, "__qualname__", "")).startswith("Callback.")
    return module == "keras.src.callbacks.callback"


def _place_of(callback: Any, hook: str) -> tuple[str | None, int | None]:
    for function in _functions(callback, hook):
        code = getattr(function, "__code__", None)
        if code is not None and not _is_base(function):
            return code.co_filename, code.co_firstlineno
    return None, None
