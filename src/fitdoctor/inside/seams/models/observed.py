"""Which Keras models a piece of the user's code calls, and with what."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from fitdoctor.inside.patches import Patches
from fitdoctor.inside.seams.backends import batches


class ModelCall(NamedTuple):
    """The outermost call of a layer or model; its tensors may be those of a trace."""

    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def parameters(self) -> int:
        """Weights of the model; 0 where it is not built."""
        try:
            return int(self.model.count_params())
        except (ValueError, TypeError, AttributeError):
            return 0

    @property
    def input_shapes(self) -> list[tuple[int, ...]]:
        """Of all tensors it was given; axes that a trace leaves open are 0."""
        leaves = [one for one in batches.leaves(self.args) if hasattr(one, "shape")]
        return [tuple(int(n or 0) for n in one.shape) for one in leaves]


class _Depth(threading.local):
    value = 0


@contextmanager
def observed_models() -> Iterator[list[ModelCall]]:
    """Collects calls of layers that no other layer makes, for as long as it is open."""
    keras = sys.modules.get("keras")
    depth = _Depth()
    found: list[ModelCall] = []
    if keras is None:
        yield found
        return
    layer = keras.layers.Layer

    def around(original: Callable[..., Any], self: Any, skip: int, args: Any, kwargs: Any) -> Any:
        if depth.value == 0:
            found.append(ModelCall(self, args[skip:], kwargs))
        depth.value += 1
        try:
            return original(self, *args, **kwargs)
        finally:
            depth.value -= 1

    with Patches() as patches:
        patches.around(layer, "__call__", lambda f, self, *a, **k: around(f, self, 0, a, k))
        # The first two arguments are the values of the variables.
        patches.around(layer, "stateless_call", lambda f, self, *a, **k: around(f, self, 2, a, k))
        yield found


def main_model(calls: list[ModelCall]) -> ModelCall | None:
    """The call of the model with the most weights: what a step mostly computes."""
    with_weights = [one for one in calls if one.parameters]
    return max(with_weights, key=lambda one: one.parameters, default=None)
