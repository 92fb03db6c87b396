"""Calls of jitted functions that run a Keras model: the steps of JAX loops without a loader.

JAX calls its compiled functions without passing any Python on the way, so `jax.jit` itself is
watched: a function of the user's own code comes back in a shell that passes everything on.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import MethodType, ModuleType
from typing import Any

from fitdoctor.recorder.callsite import is_user_file
from fitdoctor.recorder.loops import LoopWatch
from fitdoctor.recorder.session import Recorder

LAYER_MODULE = "keras.src.layers.layer"
MARKER = "jax.jit"


class _Running(threading.local):
    """The outermost jitted function that runs on this thread, if one does."""

    function: JittedFunction | None = None


_running = _Running()


class JittedFunction:
    """A jitted function and all it can do; its calls from the user's code may mark steps."""

    def __init__(self, jitted: Any, recorder: Recorder, loops: LoopWatch) -> None:
        """Stand in for what `jax.jit` gave."""
        functools.update_wrapper(self, jitted, updated=())
        self._jitted = jitted
        self._recorder = recorder
        self._loops = loops
        self.runs_keras = False  # seen while it was traced

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder = self._recorder
        if _running.function is not None or recorder.calls or recorder.suspended:
            return self._jitted(*args, **kwargs)
        _running.function = self
        try:
            if not self.runs_keras:
                return self._jitted(*args, **kwargs)
            if not is_user_file(sys._getframe(1).f_code.co_filename):
                return self._jitted(*args, **kwargs)
            call = (self._jitted, args, kwargs)
            if recorder.loops:
                recorder.loops[-1].last_function_call = call
            return self._loops.called(MARKER, lambda: self._jitted(*args, **kwargs), call)
        finally:
            _running.function = None

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A jitted method is bound like any function."""
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)

    # Named here as well: JAX asks the type whether it can do these.

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """As JAX's own."""
        return self._jitted.lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        """As JAX's own."""
        return self._jitted.trace(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """As JAX's own."""
        return self._jitted.eval_shape(*args, **kwargs)


def watch_jit(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Patch the public `jax.jit`."""

    def watched(jitted: Any, function: Any) -> Any:
        code = getattr(function, "__code__", None)
        if code is None or not is_user_file(code.co_filename):
            return jitted
        return JittedFunction(jitted, recorder, loops)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def jit(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if args:
                return watched(result, args[0])
            # Without a function it is a decorator that waits for one.
            return lambda function: watched(result(function), function)

        return jit

    recorder.patches.replace(module, "jit", make)


def watch_stateless_calls(recorder: Recorder, module: ModuleType) -> None:
    """Notice a Keras model inside a function that is being traced."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def stateless_call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if _running.function is not None:
                _running.function.runs_keras = True
            return original(self, *args, **kwargs)

        return stateless_call

    recorder.patches.replace(module.Layer, "stateless_call", make)
