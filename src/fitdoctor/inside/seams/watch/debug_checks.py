"""Checks that a framework makes on every operation while a switch is on.

They are meant for debugging, and are left on: torch's anomaly mode, the NaN checks of JAX and of
TensorFlow. All switches are public; only whether TensorFlow's is on has to be read from its inside.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

_OF_JAX = ("jax_debug_nans", "jax_debug_infs", "jax_enable_checks", "jax_check_tracer_leaks")
_OF_TENSORFLOW = "tensorflow.python.debug.lib.check_numerics_callback"


class Checks(NamedTuple):
    """Checks that are on."""

    name: str  # as it is written in a script
    off: Callable[[], AbstractContextManager[None]]


def checks_on(backend: str) -> Checks | None:
    """The checks of this backend that slow every step; None where none is on."""
    module = sys.modules.get(backend)
    if module is None:
        return None
    return {"torch": _torch, "jax": _jax, "tensorflow": _tensorflow}[backend](module)


def _torch(torch: Any) -> Checks | None:
    if not torch.is_anomaly_enabled():
        return None
    return Checks(
        "torch.autograd.set_detect_anomaly(True)",
        lambda: torch.autograd.set_detect_anomaly(False),
    )


def _jax(jax: Any) -> Checks | None:
    names = [name for name in _OF_JAX if getattr(jax.config, name, False)]
    if not names:
        return None

    @contextmanager
    def off() -> Iterator[None]:
        for name in names:
            jax.config.update(name, False)
        try:
            yield
        finally:
            for name in names:
                jax.config.update(name, True)

    return Checks(f'jax.config.update("{names[0]}", True)', off)


def _tensorflow(tensorflow: Any) -> Checks | None:
    state = getattr(sys.modules.get(_OF_TENSORFLOW), "_state", None)
    if getattr(state, "check_numerics_callback", None) is None:
        return None

    @contextmanager
    def off() -> Iterator[None]:
        tensorflow.debugging.disable_check_numerics()
        try:
            yield
        finally:
            tensorflow.debugging.enable_check_numerics()

    return Checks("tf.debugging.enable_check_numerics()", off)
