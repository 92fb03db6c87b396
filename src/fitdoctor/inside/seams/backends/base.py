"""What a probe may ask of a backend; the answers are the backends' private business."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call
    from fitdoctor.inside.seams.models.contexts import Context


class NotAvailable(Exception):
    """A probe cannot be made here; the message says why, for the report."""


class Stepper(Protocol):
    """Training steps on one batch held in memory."""

    logs: Any  # what the last step returned for the callbacks

    def step(self) -> None:
        """Enqueue one step (one execution of the step function)."""

    def synchronize(self) -> None:
        """Wait until every enqueued step has really been done."""


class Backend(Protocol):
    """The controlled experiments' view of TensorFlow, JAX or torch."""

    name: str

    def snapshot(self, model: Any) -> Callable[[], None]:
        """Copy all state that a training step changes; calling the result restores it."""

    def why_not_restorable(self) -> str | None:
        """A reason why a step cannot be undone exactly, or None."""

    def frozen_batch(self, call: Call, arguments: tuple[Any, ...], *, may_consume: bool) -> Any:
        """One real batch; `may_consume` allows taking it from the user's running iterator."""

    def stepper(self, call: Call, function: Callable[..., Any], batch: Any, result: Any) -> Stepper:
        """Steps of `function` on `batch`; `result` is the last step's result, if any."""

    def live_stepper(self, call: Call, function: Callable[..., Any], result: Any) -> Stepper:
        """Steps of `function` on a fresh pass over the user's own data."""

    def step_function(self, model: Any, **settings: Any) -> Callable[..., Any]:
        """A new training step under other compile settings; the model keeps its own."""

    def stepper_under(self, call: Call, context: Context, batch: Any, result: Any) -> Stepper:
        """Steps on `batch` of the model as it is inside a context."""

    def hold_state(self, model: Any, result: Any) -> None:
        """Let the model's variables hold their values, where a running fit keeps them elsewhere.

        Only between a snapshot and its restoration.
        """

    def fresh_loader(self, call: Call) -> Iterator[Any]:
        """A new pass over the user's data that does not touch the running one."""

    def cut(self, batch: Any, rows: int) -> Any:
        """The first rows of every tensor in a batch."""

    def widen(self, batch: Any, times: int) -> Any:
        """The batch repeated along its first axis."""

    def rows(self, batch: Any) -> int | None:
        """The batch size, if all tensors agree on one."""

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The user's step function compiled by this backend (tf.function, jax.jit)."""

    def wait_for(self, value: Any) -> None:
        """Wait until a result has really been computed."""
