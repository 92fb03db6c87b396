"""What a probe may ask of a backend; the answers are the backends' private business."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.inputs.generators import first_generator_batch, refuse_one_shot
from fitdoctor.inside.seams.inputs.second_reader import enqueued_batches
from fitdoctor.inside.seams.models.contexts import Context, step_under, with_settings
from fitdoctor.inside.seams.not_available import NotAvailable

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call


class Stepper(Protocol):
    """Training steps on one batch held in memory."""

    logs: Any  # what the last step returned for the callbacks

    def step(self) -> None:
        """Enqueue one step (one execution of the step function)."""

    def synchronize(self) -> None:
        """Wait until every enqueued step has really been done."""


class Backend(abc.ABC):
    """The controlled experiments' view of TensorFlow, JAX or torch."""

    name: str

    @abc.abstractmethod
    def snapshot(self, model: Any) -> Callable[[], None]:
        """Copy all state that a training step changes; calling the result restores it."""

    def recording_gradients(self) -> AbstractContextManager[None]:
        """On, where the script has switched gradients off for a moment."""
        return nullcontext()

    def why_not_restorable(self) -> str | None:
        """A reason why a step cannot be undone exactly, or None."""
        return None

    def frozen_batch(self, call: Call, arguments: tuple[Any, ...], *, may_consume: bool) -> Any:
        """One real batch, the last that training saw if it is known.

        `may_consume` allows taking one from the user's running iterator.
        """
        if call.last_batch is not None:
            return call.last_batch
        first = first_generator_batch(call)
        return first if first is not None else next(self.fresh_loader(call))

    @abc.abstractmethod
    def stepper(self, call: Call, function: Callable[..., Any], batch: Any, result: Any) -> Stepper:
        """Steps of `function` on `batch`; `result` is the last step's result, if any."""

    @abc.abstractmethod
    def live_stepper(self, call: Call, function: Callable[..., Any], result: Any) -> Stepper:
        """Steps of `function` on a fresh pass over the user's own data."""

    def step_function(self, model: Any, **settings: Any) -> Callable[..., Any]:
        """A new training step under other compile settings; the model keeps its own."""
        return step_under(model, with_settings(model, settings))

    def stepper_under(self, call: Call, context: Context, batch: Any, result: Any) -> Stepper:
        """Steps on `batch` of the model as it is inside a context."""
        return self.stepper(call, step_under(call.model, context), batch, result)

    def hold_state(self, model: Any, result: Any) -> None:  # noqa: B027 - most need nothing
        """Let the model's variables hold their values, where a running fit keeps them elsewhere.

        Only between a snapshot and its restoration.
        """

    def fresh_loader(self, call: Call) -> Iterator[Any]:
        """A new pass over the user's data that does not touch the running one."""
        refuse_one_shot(call)
        iterator = call.epoch_iterator
        if iterator is None:
            raise NotAvailable("Keras's epoch iterator was not seen")
        queued = enqueued_batches(iterator.data_adapter)
        # As Keras itself would make one.
        return queued if queued is not None else iter(iterator._get_iterator())

    def cut(self, batch: Any, rows: int) -> Any:
        """The first rows of every tensor in a batch."""
        return batches.map_leaves(lambda leaf: leaf[:rows], batch)

    def as_tensors(self, batch: Any) -> Any:
        """Arrays as a compiled step takes them."""
        return batch

    @abc.abstractmethod
    def widen(self, batch: Any, times: int) -> Any:
        """The batch repeated along its first axis."""

    def rows(self, batch: Any) -> int | None:
        """The batch size, if all tensors agree on one."""
        return batches.common_rows(batch)

    @abc.abstractmethod
    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The user's step function compiled by this backend (tf.function, jax.jit)."""

    @abc.abstractmethod
    def wait_for(self, value: Any) -> None:
        """Wait until a result has really been computed."""
