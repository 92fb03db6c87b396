"""What Keras's training loop does with each step's result, beside calling the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fitdoctor.inside.seams.backends.base import Stepper

# The parts of a JAX step's state, in the order of Keras's own tuple.
STATE_PARTS = (
    "trainable_variables",
    "non_trainable_variables",
    "optimizer_variables",
    "metrics_variables",
)


@contextmanager
def result_handling(model: Any, stepper: Stepper) -> Iterator[Callable[[], None]]:
    """A function that does, after a step, what Keras does with its result.

    On JAX the loop hands the whole state to the model after every step, where Keras looks through
    it for layers and variables to track: 0.15 ms for a small model, more than its step. The other
    backends keep their state in the variables.
    """
    state = getattr(stepper, "state", None)
    if state is None or not hasattr(model, "_jax_state"):
        yield lambda: None
        return
    kept = model._jax_state

    def hand_over() -> None:
        model._jax_state = dict(zip(STATE_PARTS, stepper.state, strict=True))  # type: ignore[attr-defined]

    try:
        yield hand_over
    finally:
        model._jax_state = kept
