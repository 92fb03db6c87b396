"""Values of any type of the contract, for property tests."""

from __future__ import annotations

import types
import typing
from dataclasses import fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st

from fitdoctor.contract.codec import LARGEST, SMALLEST

_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
_POSITIVE = st.floats(SMALLEST, float(LARGEST))
_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(0, LARGEST),
    float: st.just(0.0) | _POSITIVE,
    str: _TEXT,
    bool: st.booleans(),
    type(None): st.none(),
}
_ANNOTATED: dict[str, st.SearchStrategy[Any]] = {
    "signed": st.integers(-LARGEST, LARGEST),
    "positive": _POSITIVE,
    "digits": st.integers(1, 10**17).map(str),
}


def values_of(kind: Any) -> st.SearchStrategy[Any]:
    """Any value that a field of this type can have."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if origin is Annotated:
        return _ANNOTATED[arguments[1]]
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, types.UnionType):
        return st.one_of(*map(values_of, arguments))
    if origin is dict:
        return st.dictionaries(values_of(arguments[0]), values_of(arguments[1]), max_size=3)
    if origin is tuple and arguments[-1] is Ellipsis:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values_of, arguments))
    hints = typing.get_type_hints(kind, include_extras=True)
    return st.builds(kind, **{one.name: values_of(hints[one.name]) for one in fields(kind)})
