"""The shape of whatever a layer is given or gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fitdoctor.inside.seams.backends import batches


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Of the first tensor in it."""
    for leaf in batches.leaves(value):
        shape: Sequence[Any] | None = getattr(leaf, "shape", None)
        if shape is not None:
            return tuple(int(n) for n in shape)
    return None
