"""Gradients taken in eager code: the steps of loops that update their weights by hand.

A loop that has a loader, a compiled step or an optimizer is marked by these. Only where none of
them came since the same line took its last gradient is the gradient itself what marks a step.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from fitdoctor.inside.ledger.callsite import user_frame
from fitdoctor.inside.ledger.loop_watch import LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends import batches

MARKER = "gradient"
TAPE_MODULE = "tensorflow.python.eager.backprop"


class _Gradients:
    """Where gradients were taken, and how many steps were marked until then."""

    def __init__(self, recorder: Recorder, loops: LoopWatch) -> None:
        self._recorder = recorder
        self._loops = loops
        self._marks_at: dict[tuple[CodeType, int], int] = {}

    def taken(self, take: Callable[[], Any]) -> Any:
        """Take gradients; they mark a step where nothing else does."""
        recorder, loops = self._recorder, self._loops
        if recorder.calls or recorder.suspended or loops.is_inside():
            return take()
        frame = user_frame(sys._getframe(2))
        if frame is None:
            return take()
        site = (frame.f_code, frame.f_lasti)
        is_alone = self._marks_at.get(site) == loops.marks
        try:
            return loops.called(MARKER, take) if is_alone else take()
        finally:
            self._marks_at[site] = loops.marks


def watch_torch(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Patch the two public functions that all gradients go through, `Tensor.backward` included."""
    gradients = _Gradients(recorder, loops)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def watched(*args: Any, **kwargs: Any) -> Any:
            return gradients.taken(lambda: original(*args, **kwargs))

        return watched

    recorder.patches.replace(module.autograd, "backward", make)
    recorder.patches.replace(module.autograd, "grad", make)


def watch_tape(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Patch the public `tf.GradientTape.gradient`."""
    gradients = _Gradients(recorder, loops)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def gradient(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not sys.modules["tensorflow"].executing_eagerly():
                return original(self, *args, **kwargs)
            return gradients.taken(lambda: original(self, *args, **kwargs))

        return gradient

    recorder.patches.replace(module.GradientTape, "gradient", make)


def watch_jax(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Patch the public `jax.grad` and `jax.value_and_grad`."""
    gradients = _Gradients(recorder, loops)

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def transform(*args: Any, **kwargs: Any) -> Any:
            function = original(*args, **kwargs)

            @functools.wraps(function)
            def watched(*inner: Any, **named: Any) -> Any:
                leaves = batches.leaves((inner, named))
                if any(isinstance(leaf, module.core.Tracer) for leaf in leaves):
                    return function(*inner, **named)
                return gradients.taken(lambda: function(*inner, **named))

            return watched

        return transform

    recorder.patches.replace(module, "grad", make)
    recorder.patches.replace(module, "value_and_grad", make)
