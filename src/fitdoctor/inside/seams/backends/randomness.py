"""Random state that lives in Python: a probe that draws numbers must give them back."""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable
from typing import Any

_MAX_DEPTH = 2  # a dataset object, and what it holds


def snapshot_python(*owners: Any) -> Callable[[], None]:
    """Copy the state of the global generators and of those that the owners hold."""
    restores: list[Callable[[], Any]] = [functools.partial(random.setstate, random.getstate())]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        restores.append(functools.partial(numpy.random.set_state, numpy.random.get_state()))
    seen: set[int] = set()
    for owner in owners:
        _collect(owner, _MAX_DEPTH, seen, restores)

    def restore() -> None:
        for action in restores:
            action()

    return restore


def global_state() -> tuple[Any, ...]:
    """The state of the global generators: another one after a call means that it drew numbers."""
    numpy = sys.modules.get("numpy")
    state: Any = numpy.random.get_state() if numpy is not None else None
    return random.getstate(), None if state is None else (state[1].tobytes(), *state[2:])


def _collect(owner: Any, depth: int, seen: set[int], restores: list[Callable[[], Any]]) -> None:
    if id(owner) in seen or depth < 0:
        return
    seen.add(id(owner))
    restore = _restoring(owner)
    if restore is not None:
        restores.append(restore)
        return
    try:
        attributes = vars(owner)
    except TypeError:
        return
    for value in list(attributes.values()):
        if any(hasattr(value, name) for name in ("__dict__", "bit_generator", "get_state")):
            _collect(value, depth - 1, seen, restores)


def _restoring(value: Any) -> Callable[[], Any] | None:
    """What puts a generator's present state back; None for anything else."""
    if isinstance(value, random.Random):
        return functools.partial(value.setstate, value.getstate())
    bits = getattr(value, "bit_generator", None)  # numpy.random.Generator
    if bits is not None and hasattr(bits, "state"):
        return functools.partial(setattr, bits, "state", bits.state)
    if type(value).__name__ == "RandomState" and hasattr(value, "get_state"):
        return functools.partial(value.set_state, value.get_state())
    if type(value).__module__ == "torch._C" and hasattr(value, "get_state"):
        return functools.partial(value.set_state, value.get_state().clone())
    return None
