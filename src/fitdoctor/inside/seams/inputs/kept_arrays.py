"""NumPy arrays that a loop hands to its compiled step again and again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from fitdoctor.inside.ledger.loop_watch import FunctionCall
from fitdoctor.inside.seams.backends import batches
from fitdoctor.inside.seams.not_available import NotAvailable

# A smaller one is handed over in no time.
LARGE_BYTES = 1_000_000


def large_arrays(call: FunctionCall | None) -> list[Any]:
    """The large NumPy arrays among the arguments of a call."""
    numpy = sys.modules.get("numpy")
    if call is None or numpy is None:
        return []
    leaves = batches.leaves((call.args, call.kwargs))
    return [one for one in leaves if type(one) is numpy.ndarray and one.nbytes >= LARGE_BYTES]


def kept(before: Sequence[Any], now: Sequence[Any]) -> list[Any]:
    """The very same arrays in both."""
    known = {id(one) for one in before}
    return [one for one in now if id(one) in known]


def placing(backend: str, arrays: Sequence[Any]) -> Callable[[Any], Any]:
    """A change of arguments: these arrays, where the framework keeps its own."""
    frameworks: dict[str, Callable[[], Callable[[Any], Any]]] = {
        "tensorflow": lambda: sys.modules["tensorflow"].constant,
        "jax": lambda: sys.modules["jax"].device_put,
    }
    if backend not in frameworks:
        raise NotAvailable(f"{backend} takes no NumPy arrays")
    place = frameworks[backend]()
    placed = {id(one): place(one) for one in arrays}
    return lambda leaf: placed.get(id(leaf), leaf)
