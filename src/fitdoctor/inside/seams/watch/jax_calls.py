"""Calls of jitted functions that run a Keras model: the steps of JAX loops without a loader.

JAX calls its compiled functions without passing any Python on the way, so `jax.jit` itself is
watched: a function of the user's own code comes back in a shell that passes everything on.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import CodeType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from fitdoctor.contract.records import EventDetail
from fitdoctor.inside.ledger.callsite import is_user_file, user_place
from fitdoctor.inside.ledger.loop_watch import FunctionCall, LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.watch.jit_arguments import Argument, arguments_of, changed

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call

LAYER_MODULE = "keras.src.layers.layer"
MARKER = "jax.jit"
COMPILE_EVENT = "/jax/core/compile/backend_compile_duration"
_WORTH_RECORDING_S = 0.001  # eager JAX compiles hundreds of trivial ops


class _Running(threading.local):
    """The outermost jitted function that runs on this thread, if one does."""

    function: JittedFunction | None = None


_running = _Running()
# Functions that were seen to run a Keras model while they were traced. A loop that jits its step
# again in every iteration has another jitted function each time, but one and the same code.
_keras_codes: set[CodeType] = set()


class JittedFunction:
    """A jitted function and all it can do; its calls from the user's code may mark steps."""

    def __init__(
        self,
        jitted: Any,
        code: CodeType,
        options: dict[str, Any],
        recorder: Recorder,
        loops: LoopWatch,
    ) -> None:
        """`options` as `jax.jit` was given them."""
        functools.update_wrapper(self, jitted, updated=())
        self._jitted = self.jitted = jitted
        self.options = options
        self.code = code
        self._recorder = recorder
        self._loops = loops
        self._called_with: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})
        self._compiled_for: list[Argument] | None = None
        self._missed = 0  # calls before it was known to run a Keras model

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        recorder = self._recorder
        if _running.function is not None or recorder.calls or recorder.suspended:
            return self._jitted(*args, **kwargs)
        _running.function = self
        self._called_with = (args, kwargs)
        try:
            if self.code not in _keras_codes:
                result = self._jitted(*args, **kwargs)
                self._missed += self.code in _keras_codes  # which its tracing has shown
                return result
            if not is_user_file(sys._getframe(1).f_code.co_filename):
                return self._jitted(*args, **kwargs)
            call = FunctionCall(self, args, kwargs)
            missed, self._missed = self._missed, 0
            return self._loops.called(MARKER, lambda: self._jitted(*args, **kwargs), call, missed)
        finally:
            _running.function = None
            self._called_with = ((), {})

    def compiling(self, name: str) -> EventDetail:
        """Where it is defined and called from, and what is new to it since it was compiled last."""
        code = self.code
        now = arguments_of(code, *self._called_with)
        before, self._compiled_for = self._compiled_for, now
        place = user_place()
        new = changed(before, now) if before is not None else None
        return EventDetail(
            name=name,
            model=0,
            file=code.co_filename,
            line=code.co_firstlineno,
            called_from=place[:2] if place is not None else None,
            shapes=tuple(new.shapes) if new is not None else (),
            changed=tuple(new.values) if new is not None else None,
        )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """A jitted method is bound like any function."""
        return self if instance is None else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)

    # Named here as well: JAX asks the type whether it can do these.

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        return self._jitted.lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> Any:
        return self._jitted.trace(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        return self._jitted.eval_shape(*args, **kwargs)


def compiling(name: str) -> EventDetail:
    """What is known of the function of this name that this thread compiles.

    It may be one of JAX's own, which are compiled on the way; then only its name is known.
    """
    function = _running.function
    if function is None or str(getattr(function, "__name__", "?")) not in name:
        return EventDetail(name=name, model=0)
    detail: EventDetail = function.compiling(name)
    return detail


def watch_jit(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Patch the public `jax.jit`."""

    def watched(jitted: Any, function: Any, options: dict[str, Any]) -> Any:
        code = _users_code(function)
        if code is None:
            return jitted
        return JittedFunction(jitted, code, options, recorder, loops)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def jit(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if args:
                return watched(result, args[0], kwargs)
            # Without a function it is a decorator that waits for one.
            return lambda function: watched(result(function), function, kwargs)

        return jit

    recorder.patches.replace(module, "jit", make)


def _users_code(function: Any) -> CodeType | None:
    """The user's own function in what was jitted, as in `jax.jit(jax.value_and_grad(loss))`."""
    while function is not None:
        code = getattr(function, "__code__", None)
        if isinstance(code, CodeType) and is_user_file(code.co_filename):
            return code
        is_partial = isinstance(function, functools.partial)
        function = function.func if is_partial else getattr(function, "__wrapped__", None)
    return None


def watch_stateless_calls(recorder: Recorder, module: ModuleType) -> None:
    """Notice a Keras model inside a function that is being traced."""

    def stateless_call(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        if _running.function is not None:
            _keras_codes.add(_running.function.code)
        return original(*args, **kwargs)

    recorder.patches.around(module.Layer, "stateless_call", stateless_call)


def _batch_of(call: Call) -> Any:
    """The batch that a call compiles for; of `*_on_batch`, its arguments."""
    if call.last_batch is not None or not call.kind.endswith("_on_batch"):
        return call.last_batch
    return [call.arguments.get("x"), call.arguments.get("y")]


def watch_compiles(recorder: Recorder, jax: Any) -> None:
    """Record each XLA compilation through JAX's public monitoring events."""

    def listener(event: str, duration: float, **detail: Any) -> None:
        if event != COMPILE_EVENT or duration < _WORTH_RECORDING_S or recorder.suspended:
            return
        call = recorder.active_call()
        nanoseconds = int(duration * 1e9)
        name = str(detail.get("fun_name", ""))
        if call is not None:
            shapes = batches.describe(_batch_of(call))
            number = recorder.model_number(call.model)
            facts = EventDetail(name=name, shapes=tuple(shapes), model=number)
        else:
            facts = compiling(name)
        recorder.event("compile", recorder.clock() - nanoseconds, nanoseconds, facts)

    jax.monitoring.register_event_duration_secs_listener(listener)
