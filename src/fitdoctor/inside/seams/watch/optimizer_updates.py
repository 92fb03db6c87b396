"""Eager updates by Keras's and torch's optimizers: the steps of loops that have no loader."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.inside.ledger.loop_watch import LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends import batches

OPTIMIZER_MODULE = "keras.src.optimizers.base_optimizer"
TORCH_OPTIMIZER_MODULE = "torch.optim.optimizer"
MARKER = "optimizer"


def watch_updates(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Patch the one method through which all updates go."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.calls or recorder.suspended:
                return original(self, *args, **kwargs)
            is_inside = loops.is_inside()
            loops.updates(self)
            if is_inside or _is_tracing(recorder.backend, args):
                return original(self, *args, **kwargs)

            def update() -> Any:
                loops.updates(self)
                return original(self, *args, **kwargs)

            return loops.called(MARKER, update)

        return apply

    recorder.patches.replace(module.BaseOptimizer, "apply", make)


def _is_tracing(backend: str, arguments: tuple[Any, ...]) -> bool:
    """Whether the update is being compiled, so that nothing is executed yet."""
    if backend == "tensorflow":
        return not sys.modules["tensorflow"].executing_eagerly()
    if backend == "jax":
        tracer = sys.modules["jax"].core.Tracer
        return any(isinstance(leaf, tracer) for leaf in batches.leaves(arguments))
    return False


def watch_torch_updates(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """Have torch report every update, by its public hook for all optimizers."""

    def on_update(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if recorder.calls or recorder.suspended:
            return
        if loops.is_inside():
            loops.updates(optimizer)
        else:
            loops.called(MARKER, lambda: loops.updates(optimizer))

    handle = module.register_optimizer_step_pre_hook(on_update)
    recorder.patches.later(handle.remove)
