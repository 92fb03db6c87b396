"""PyTorch: eager steps, state in modules, random state in torch's generators."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend, Stepper
from fitdoctor.inside.seams.backends.model_state import state_variables
from fitdoctor.inside.seams.backends.randomness import snapshot_python
from fitdoctor.inside.seams.not_available import NotAvailable

if TYPE_CHECKING:
    from fitdoctor.inside.ledger.running_call import Call


class TorchBackend(Backend):
    """Keras on PyTorch."""

    name = "torch"

    def __init__(self) -> None:
        self.torch = sys.modules["torch"]

    def recording_gradients(self) -> AbstractContextManager[None]:
        """A loop is examined where it updates its weights, often inside `torch.no_grad()`."""
        enabled: AbstractContextManager[None] = self.torch.enable_grad()
        return enabled

    def snapshot(self, model: Any) -> Callable[[], None]:
        """Copy values, gradients, train/eval mode and torch's random state."""
        torch = self.torch
        values = [(v.value, v.value.detach().clone()) for v in state_variables(model)]
        gradients = [
            (v.value, None if v.value.grad is None else v.value.grad.clone())
            for v in model.trainable_variables
        ]
        modes = [(module, module.training) for module in model.modules()]
        cpu_state = torch.random.get_rng_state()
        cuda_states = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else None
        restore_python = snapshot_python()

        def restore() -> None:
            with torch.no_grad():
                for tensor, copied in values:
                    tensor.copy_(copied)
            for tensor, gradient in gradients:
                tensor.grad = gradient
            for module, training in modes:
                module.training = training
            torch.random.set_rng_state(cpu_state)
            if cuda_states is not None:
                torch.cuda.set_rng_state_all(cuda_states)
            restore_python()

        return restore

    def stepper(self, call: Call, function: Callable[..., Any], batch: Any, result: Any) -> Stepper:
        """The step called with the same batch again and again."""
        # At the end of a fit Keras has put the model into evaluation mode.
        call.model.train()
        return _BatchStepper(self.torch, function, batch)

    def live_stepper(self, call: Call, function: Callable[..., Any], result: Any) -> Stepper:
        """Not needed: the only setting tried on live data is unsupported on torch."""
        raise NotAvailable("Keras on torch supports only steps_per_execution=1")

    def step_function(self, model: Any, **settings: Any) -> Callable[..., Any]:
        if int(settings.get("steps_per_execution", 1)) > 1:
            raise NotAvailable("Keras on torch supports only steps_per_execution=1")
        return super().step_function(model, **settings)

    def widen(self, batch: Any, times: int) -> Any:
        def repeat(leaf: Any) -> Any:
            if isinstance(leaf, self.torch.Tensor):
                return self.torch.cat([leaf] * times)
            return sys.modules["numpy"].concatenate([leaf] * times)

        return batches.map_leaves(repeat, batch)

    def compiled(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """torch.compile takes tens of seconds; it is no probe."""
        raise NotAvailable("torch.compile is not tried while a script is examined")

    def wait_for(self, value: Any) -> None:
        if self.torch.cuda.is_available():
            self.torch.cuda.synchronize()


class _BatchStepper:
    def __init__(self, torch: Any, function: Callable[..., Any], batch: Any) -> None:
        self._cuda = torch.cuda if torch.cuda.is_available() else None
        self._function = function
        self._data = [batch]
        self.logs: Any = None

    def step(self) -> None:
        self.logs = self._function(self._data)

    def synchronize(self) -> None:
        if self._cuda is not None:
            self._cuda.synchronize()
