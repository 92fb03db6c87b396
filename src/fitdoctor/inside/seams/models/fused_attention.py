"""Keras's attention layers without what keeps them from the fused path, for a moment.

Keras computes attention in one operation (`ops.dot_product_attention`) unless a layer drops
attention weights, is asked for them, or is forbidden to.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from fitdoctor.inside.seams.backends.model_state import all_layers
from fitdoctor.inside.seams.models.contexts import Context, attribute

SCORES = "return_attention_scores"
# The rate that the layer looks at, by class; both compute in `_compute_attention`.
_RATES = {"MultiHeadAttention": "_dropout", "GroupedQueryAttention": "dropout"}
# As scripts write them.
_NAMES = {"GroupedQueryAttention": "GroupQueryAttention"}
# The place of the scores among what Keras hands over.
_SCORES_AT = 5


class FreedAttention:
    """The attention layers of a model, and what was seen to keep them from the fused path."""

    def __init__(self, model: Any) -> None:
        self._layers = attention_layers(model)
        self.reasons: set[str] = set()
        self.types: set[str] = set()

    def context(self, _: Any) -> Context:
        """While it is open, all of them may take the fused path."""

        @contextmanager
        def changed() -> Iterator[None]:
            with ExitStack() as stack:
                for layer in self._layers:
                    self._free(layer, stack)
                yield

        return changed

    def _free(self, layer: Any, stack: ExitStack) -> None:
        rate = _RATES[type(layer).__name__]
        if getattr(layer, rate) > 0:
            self._was_kept(layer, "dropout")
            stack.enter_context(attribute(layer, rate, 0.0))
        if layer._flash_attention is False:
            self._was_kept(layer, "flash_attention")
            stack.enter_context(attribute(layer, "_flash_attention", None))
        compute = self._without_scores(layer, layer._compute_attention)
        stack.enter_context(attribute(layer, "_compute_attention", compute))

    def _without_scores(self, layer: Any, compute: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(compute)
        def _compute_attention(*args: Any, **kwargs: Any) -> Any:
            if kwargs.get(SCORES):
                self._was_kept(layer, SCORES)
                kwargs = {**kwargs, SCORES: False}
            elif len(args) > _SCORES_AT and args[_SCORES_AT]:
                self._was_kept(layer, SCORES)
                args = (*args[:_SCORES_AT], False, *args[_SCORES_AT + 1 :])
            return compute(*args, **kwargs)

        return _compute_attention

    def _was_kept(self, layer: Any, reason: str) -> None:
        self.reasons.add(reason)
        name = type(layer).__name__
        self.types.add(_NAMES.get(name, name))


def attention_layers(model: Any) -> list[Any]:
    """Keras's own, not the user's subclasses, which may compute otherwise."""
    return [
        layer
        for layer in all_layers(model)
        if type(layer).__name__ in _RATES and type(layer).__module__.startswith("keras.")
    ]
