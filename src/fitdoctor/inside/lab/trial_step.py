"""The training step as experiments see it: of a fit, of train_on_batch, or of a loop's iteration.

A probe asks for steps as they are, on another batch, or with something changed; whose step it is
makes no difference to it.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.seams.backends.base import Stepper
from fitdoctor.inside.seams.models.contexts import Context as ModelChange

Change = Callable[[Any], Any]  # of a batch, or of one array of it


class TrialStep(abc.ABC):
    """Training steps on one batch held in memory."""

    model: Any
    executions: int = 1  # steps that one call of a stepper does
    is_eager: bool = False  # op by op where the backend would compile
    has_jit: bool = False  # XLA or torch.compile was asked for

    @property
    @abc.abstractmethod
    def rows(self) -> int | None:
        """Of a batch."""

    @property
    @abc.abstractmethod
    def inputs(self) -> Any:
        """What the model is called with."""

    @property
    def optimizer(self) -> Any:
        """What updates the weights; None where it was not seen."""
        return getattr(self.model, "optimizer", None)

    @property
    def values(self) -> dict[int, Any]:
        """Values of variables by id, where the variables hold none (JAX in a fit)."""
        return {}

    @abc.abstractmethod
    def as_is(self) -> Stepper:
        """The user's own step."""

    @abc.abstractmethod
    def on(self, change: Change) -> Stepper:
        """One step at a time, on the batch as it is after a change; compiled apart.

        The user's own compiled step would become more general for other shapes.

        Raises:
            NotAvailable: the batch cannot be told from other arguments of the step.
        """

    @abc.abstractmethod
    def on_each(self, first: Change, then: Change) -> Stepper:
        """As `on`, by a function that has seen another shape before."""

    @abc.abstractmethod
    def under(self, change: ModelChange) -> Stepper:
        """While something of the model is changed."""

    @abc.abstractmethod
    def with_jit(self, on: bool) -> Stepper:
        """Compiled with or without XLA."""
