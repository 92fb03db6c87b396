"""Numbers of tensors that have none while a step is traced: stand-ins, for a trial.

`return float(loss)` is what keeps many a hand-written step from being compiled. A trial asks what
the step would take without; so while it is traced, reading a number gives something in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

_MISSING = object()


@contextmanager
def numbers_stand_in(
    owner: type[Any], stand_ins: Mapping[str, Callable[[Any], Any]], read: Callable[[], None]
) -> Iterator[None]:
    """Replace methods of a class for a while.

    Args:
        owner: the class of tensors that are being traced.
        stand_ins: what each method gives, by its name.
        read: called whenever one of them is.
    """
    kept = {name: vars(owner).get(name, _MISSING) for name in stand_ins}
    for name, stand_in in stand_ins.items():
        setattr(owner, name, _reading(stand_in, read))
    try:
        yield
    finally:
        for name, method in kept.items():
            if method is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, method)


def _reading(stand_in: Callable[[Any], Any], read: Callable[[], None]) -> Callable[[Any], Any]:
    def method(tensor: Any) -> Any:
        read()
        return stand_in(tensor)

    return method
