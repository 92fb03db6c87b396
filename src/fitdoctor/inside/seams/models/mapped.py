"""Functions that map over the rows one by one, with their twins that do all rows at once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from fitdoctor.inside.ledger.callsite import Place, user_place
from fitdoctor.inside.patches import Patches


class MapCall(NamedTuple):
    """A call of such a function in the user's source."""

    name: str  # `map_fn`, `map` of keras.ops, or `lax.map`
    place: Place


@contextmanager
def vectorized_maps(seen: set[MapCall] | None = None) -> Iterator[None]:
    """Let the twins answer for a while; `seen` gets the calls that they answered."""
    with Patches() as patches:
        ops = sys.modules["keras"].ops
        patches.replace(ops, "map", _answered_by(ops.vectorized_map, "map", seen))
        tensorflow = sys.modules.get("tensorflow")
        if tensorflow is not None:
            twin = tensorflow.vectorized_map
            patches.replace(tensorflow, "map_fn", _answered_by(twin, "map_fn", seen))
        jax = sys.modules.get("jax")
        # Keras's own map on JAX is made of this one, and answered above.
        if jax is not None and sys.modules["keras"].config.backend() == "jax":
            patches.replace(jax.lax, "map", _answered_by(_vmapped(jax), "lax.map", seen))
        yield


def _vmapped(jax: Any) -> Callable[[Any, Any], Any]:
    return lambda function, elements: jax.vmap(function)(elements)


def _answered_by(twin: Any, name: str, seen: set[MapCall] | None) -> Callable[[Any], Any]:
    def traced(function: Any, elements: Any, *others: Any, **settings: Any) -> Any:
        # Converted by AutoGraph, as the user's own code is: nothing but the call.
        return twin(function, elements)

    def told(function: Any, elements: Any, *others: Any, **settings: Any) -> Any:
        place = user_place(2)
        if place is not None and seen is not None:
            seen.add(MapCall(name, place))
        return twin(function, elements)

    return lambda original: traced if seen is None else told
