"""Calls of tf.functions from the user's own code: the steps of loops without a loader."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.callsite import is_user_file
from fitdoctor.inside.ledger.loop_watch import FunctionCall, LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder

FUNCTION_MODULE = "tensorflow.python.eager.polymorphic_function.polymorphic_function"
MARKER = "tf.function"


class _Inside(threading.local):
    call = False


def watch_function_calls(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Patch the call of a tf.function object."""
    inside = _Inside()

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
            if inside.call or recorder.calls or recorder.suspended:
                return original(self, *args, **kwargs)
            if not is_user_file(sys._getframe(1).f_code.co_filename):
                return original(self, *args, **kwargs)
            inside.call = True
            try:
                return loops.called(
                    MARKER,
                    lambda: original(self, *args, **kwargs),
                    FunctionCall(self, args, kwargs),
                )
            finally:
                inside.call = False

        return __call__

    recorder.patches.replace(module.Function, "__call__", make)
