"""Keras augmentation layers that the loader calls: what they take there, and in the model instead.

Called from a `PyDataset` or a torch dataset they run one operation at a time; inside the model
they are part of the compiled step, on the device that the model runs on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from fitdoctor.contract.evidence.loading import AugmentationInLoader, InputFacts
from fitdoctor.contract.evidence.model import ChangedStep
from fitdoctor.inside.lab.apparatus.frozen_steps import step_under
from fitdoctor.inside.lab.apparatus.slow_input import slow_adapter
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe
from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.inputs.second_reader import batch_maker
from fitdoctor.inside.seams.models.contexts import with_layers_in_front

BATCHES = 3
KINDS = ("PyDataset", "DataLoader")


class LayersInLoader:
    """The layers that are called while batches are made, and how long each takes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._depth = 0
        self.spent_ns: dict[int, int] = {}
        self.layers: dict[int, Any] = {}

    def watch(self, make_batch: Callable[[], Any]) -> None:
        """Make one batch with Keras's base layer patched."""
        with Patches() as patches:
            patches.replace(sys.modules["keras"].layers.Layer, "__call__", self._timed)
            make_batch()

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(layer: Any, *args: Any, **kwargs: Any) -> Any:
            self._depth += 1
            begin = time.perf_counter_ns()
            try:
                result = original(layer, *args, **kwargs)
                if self._depth == 1:
                    self._backend.wait_for(result)
            finally:
                self._depth -= 1
            if self._depth == 0:
                spent = time.perf_counter_ns() - begin
                self.spent_ns[id(layer)] = self.spent_ns.get(id(layer), 0) + spent
                self.layers[id(layer)] = layer
            return result

        return __call__

    @property
    def random(self) -> list[Any]:
        """Those that draw random numbers, in the order in which they were called."""
        return [layer for layer in self.layers.values() if _is_random(layer)]


def in_loader(
    backend: Backend, make_batch: Callable[[], Any]
) -> tuple[AugmentationInLoader, list[Any]]:
    """The share of making a batch that random layers take, and these layers.

    Raises:
        NotAvailable: the loader calls none.
    """
    watched = LayersInLoader(backend)
    watched.watch(make_batch)  # builds and compiles what it calls
    random = watched.random
    if not random:
        raise NotAvailable("the loader calls no augmentation layer")
    watched.spent_ns.clear()
    begin = time.perf_counter_ns()
    for _ in range(BATCHES):
        watched.watch(make_batch)
    whole = time.perf_counter_ns() - begin
    spent = sum(watched.spent_ns.get(id(layer), 0) for layer in random)
    found = AugmentationInLoader(
        batch_ns=whole // BATCHES,
        layers_ns=spent // BATCHES,
        share=spent / max(1, whole),
        layers=tuple(type(layer).__name__ for layer in random),
    )
    return found, random


def in_model(context: Context, layers: list[Any]) -> ChangedStep:
    """The step with these layers in front of the model, in turns with the step as it is."""
    x, _, _ = sys.modules["keras"].utils.unpack_x_y_sample_weight(context.batch)
    if len(batches.leaves(x)) != 1:
        raise NotAvailable("the model has several inputs")
    return ChangedStep(**step_under(context, lambda model: with_layers_in_front(model, layers)))


def _is_random(layer: Any) -> bool:
    return any(hasattr(one, "generator") for one in (layer, *all_layers(layer)))


def _random_layers(context: Context) -> list[Any]:
    """The layers that the loader was seen to call, for the step with them in the model."""
    empty: list[Any] = []
    return context.shared("random_layers", lambda: empty)


class AugmentInLoader(Probe[AugmentationInLoader]):
    """Batches made in this thread, with Keras's layers watched."""

    phase = Phase.INPUT
    after = ("hdf5_reads",)

    def wanted(self, context: Context) -> bool:
        return slow_adapter(context, *KINDS) is not None and context.on_gpu

    def run(self, context: Context) -> AugmentationInLoader:
        facts = context.found(InputFacts)
        maker = batch_maker(context.adapter, facts.kind if facts is not None else "")
        found, layers = in_loader(context.backend, maker)
        _random_layers(context).extend(layers)
        return found


class AugmentInModel(Probe[ChangedStep]):
    """The same layers as part of the compiled step."""

    keys = ("augmented",)
    phase = Phase.INPUT
    after = ("augmentation",)

    def wanted(self, context: Context) -> bool:
        return context.found(AugmentationInLoader) is not None and context.batch is not None

    def run(self, context: Context) -> ChangedStep:
        return in_model(context, _random_layers(context))
