"""Random state that lives in Python: a probe that draws numbers must give them back."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

_MAX_DEPTH = 2  # a dataset object, and what it holds


def snapshot_python(*owners: Any) -> Callable[[], None]:
    """Copy the state of the global generators and of those that the owners hold."""
    restores: list[Callable[[], None]] = []
    state = random.getstate()
    restores.append(lambda: random.setstate(state))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy_state = numpy.random.get_state()
        restores.append(lambda: numpy.random.set_state(numpy_state))
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


def _collect(owner: Any, depth: int, seen: set[int], restores: list[Callable[[], None]]) -> None:
    if id(owner) in seen or depth < 0:
        return
    seen.add(id(owner))
    if _is_generator(owner, restores):
        return
    try:
        attributes = vars(owner)
    except TypeError:
        return
    for value in list(attributes.values()):
        if any(hasattr(value, name) for name in ("__dict__", "bit_generator", "get_state")):
            _collect(value, depth - 1, seen, restores)


def _is_generator(value: Any, restores: list[Callable[[], None]]) -> bool:
    if isinstance(value, random.Random):
        state = value.getstate()
        restores.append(lambda: value.setstate(state))
        return True
    bits = getattr(value, "bit_generator", None)  # numpy.random.Generator
    if bits is not None and hasattr(bits, "state"):
        bits_state = bits.state
        restores.append(lambda: setattr(bits, "state", bits_state))
        return True
    if type(value).__name__ == "RandomState" and hasattr(value, "get_state"):
        legacy = value.get_state()
        restores.append(lambda: value.set_state(legacy))
        return True
    if type(value).__module__ == "torch._C" and hasattr(value, "get_state"):
        torch_state = value.get_state().clone()
        restores.append(lambda: value.set_state(torch_state))
        return True
    return False
