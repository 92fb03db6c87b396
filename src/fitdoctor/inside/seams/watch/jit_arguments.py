"""Why JAX compiled a function of the user's again: the arguments that are new to it."""

from __future__ import annotations

from types import CodeType
from typing import Any, NamedTuple

from fitdoctor.inside.seams.backends import batches

LONGEST_TEXT = 60
MOST_CHANGED = 8


class Argument(NamedTuple):
    """One leaf of a call's arguments."""

    name: str  # of the parameter it belongs to
    text: str  # shape and type of an array, or the Python value itself
    is_array: bool


class Changed(NamedTuple):
    """What differs between two calls: arrays as they are now, Python values before and after."""

    shapes: list[str]
    values: list[str]


def arguments_of(code: CodeType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Argument]:
    """Every leaf that a jitted function was called with."""
    names = code.co_varnames[: code.co_argcount]
    positional = [
        (names[index] if index < len(names) else f"argument {index}", value)
        for index, value in enumerate(args)
    ]
    return [
        _argument(name, leaf)
        for name, value in (*positional, *kwargs.items())
        for leaf in batches.leaves(value)
    ]


def changed(before: list[Argument], now: list[Argument]) -> Changed:
    """What of the arguments is new.

    A Python value that JAX traces may be another one in every call; only where no array differs
    can it be what the function was compiled for.
    """
    if len(before) == len(now):
        pairs = [(old, new) for old, new in zip(before, now, strict=True) if old != new]
    else:
        pairs = [(new, new) for new in now if new not in before]
    shapes = [new.text for _, new in pairs if new.is_array][:MOST_CHANGED]
    if shapes:
        return Changed(shapes, [])
    values = [f"{new.name}: {old.text} -> {new.text}" for old, new in pairs]
    return Changed([], values[:MOST_CHANGED])


def _argument(name: str, leaf: Any) -> Argument:
    shape = getattr(leaf, "shape", None)
    if shape is None:
        return Argument(name, repr(leaf)[:LONGEST_TEXT], is_array=False)
    return Argument(name, batches.describe([leaf])[0], is_array=True)
