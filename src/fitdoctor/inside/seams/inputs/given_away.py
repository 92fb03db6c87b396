"""Arrays that a JAX step has given away: a donated argument is deleted when the step has run.

An experiment that calls the step again needs arrays in their places. Their values do not matter for
how long it takes.
"""

from __future__ import annotations

import sys
from typing import Any

from fitdoctor.inside.seams.backends import batches

# Small, so that a step on them neither overflows nor meets denormal numbers.
FILLED_WITH = 0.01


def with_living_arrays(arguments: Any) -> Any:
    """The same arguments, with new arrays in the places of deleted ones."""
    return batches.map_leaves(_living, arguments)


def _living(leaf: Any) -> Any:
    is_deleted = getattr(leaf, "is_deleted", None)
    if is_deleted is None or not callable(is_deleted) or not is_deleted():
        return leaf
    jax = sys.modules["jax"]
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.split(jax.random.key(0), leaf.shape)
    is_real = jax.dtypes.issubdtype(leaf.dtype, jax.numpy.floating)
    return jax.numpy.full(leaf.shape, FILLED_WITH if is_real else 0, leaf.dtype)
