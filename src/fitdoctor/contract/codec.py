"""Dataclasses to JSON and back; what comes back is checked once, here, and nowhere else.

A recording may have been cut, edited or written by a faulty version. Whoever reads one of these
dataclasses may rely on its types and on numbers that are finite.
"""

from __future__ import annotations

import functools
import re
import types
import typing
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

Record = TypeVar("Record")
Decoder = Callable[[Any], Any]

_SIZE = re.compile(r"[1-9][0-9]{0,17}")

# Counts, sizes and nanoseconds beyond this are damage: 2**62 ns are 146 years.
LARGEST = 2**62
# A fraction below this is damage too: nothing in a recording is divided that finely.
SMALLEST = 1e-12
# A number that may be negative: AUTOTUNE is -1, an endless repeat is -1.
Signed = Annotated[int, "signed"]
# A time that something was divided by, or will be: more than nothing.
Positive = Annotated[float, "positive"]
# The key of a table by size: a positive whole number as text.
Digits = Annotated[str, "digits"]


class BadValue(ValueError):
    """A value that does not fit its field; says which and why."""


def encode(value: Any) -> Any:
    """The JSON form; what is None is left out, since missing means the same."""
    if is_dataclass(value):
        kind: Any = type(value)
        pairs = ((one.name, getattr(value, one.name)) for one in _fields(kind))
        return {name: encode(found) for name, found in pairs if found is not None}
    if isinstance(value, dict):
        return {str(key): encode(found) for key, found in value.items()}
    if isinstance(value, list | tuple):
        return [encode(one) for one in value]
    return value


def decode(kind: type[Record], value: Any) -> Record:
    """A checked object of this dataclass.

    Raises:
        BadValue: a field is missing, of another type, or absurd.

    Example:
        >>> from fitdoctor.contract.places import CodeLine
        >>> decode(CodeLine, {"file": "a.py", "line": 3})
        CodeLine(file='a.py', line=3)
    """
    return cast(Record, _decoder(cast(Any, kind))(value))


def decode_known(kind: type[Record], value: Any) -> Record:
    """As `decode`, but what does not fit is left out, since every field has a default."""
    given = value if isinstance(value, dict) else {}
    kept: dict[str, Any] = {}
    for name, decoder, *_ in _plan(cast(Any, kind)):
        if name in given:
            try:
                kept[name] = decoder(given[name])
            except BadValue:
                continue
    return kind(**kept)


def as_text(value: str) -> str:
    """Text that can be written anywhere: halves of surrogate pairs and null bytes are replaced.

    No path may hold a null byte: it would raise wherever the path is used.
    """
    return value.replace("\0", "?").encode("utf-8", "replace").decode("utf-8")


@functools.cache
def _fields(kind: Any) -> tuple[Any, ...]:
    return fields(kind)


@functools.cache
def _decoder(kind: Any) -> Decoder:
    """The function that checks and converts one type; made once for each."""
    origin = get_origin(kind)
    if is_dataclass(kind):
        return functools.partial(_object, kind)
    if kind in _SCALARS:
        return _SCALARS[kind]
    if origin is Annotated:
        return _ANNOTATED[get_args(kind)[1]]
    if origin is Literal:
        return functools.partial(_one_of, get_args(kind))
    if origin in (Union, types.UnionType):
        return functools.partial(_union, tuple(_decoder(one) for one in get_args(kind)))
    if origin is tuple:
        first, *others = get_args(kind)
        if others == [Ellipsis]:
            return functools.partial(_sequence, _decoder(first))
        return functools.partial(_fixed, (_decoder(first), *map(_decoder, others)))
    if origin is dict:
        return functools.partial(_mapping, *map(_decoder, get_args(kind)))
    raise TypeError(f"the contract has no decoder for {kind}")


@functools.cache
def _plan(kind: Any) -> tuple[tuple[str, Decoder, bool, bool], ...]:
    """Per field: its name, its decoder, whether it has a default, and whether it may be None."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return tuple(
        (
            one.name,
            _decoder(hints[one.name]),
            one.default is not MISSING or one.default_factory is not MISSING,
            type(None) in get_args(hints[one.name]),
        )
        for one in _fields(kind)
    )


def _object(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise BadValue(f"{kind.__name__} is not an object")
    found: dict[str, Any] = {}
    for name, decoder, has_default, may_be_none in _plan(kind):
        if name in value:
            try:
                found[name] = decoder(value[name])
            except BadValue as error:
                raise BadValue(f"{kind.__name__}.{name}: {error}") from None
        elif not has_default and not may_be_none:
            raise BadValue(f"{kind.__name__}.{name} is missing")
        elif not has_default:
            found[name] = None
    return kind(**found)


def _whole(value: Any, lowest: int = 0) -> int:
    if type(value) is not int or not lowest <= value <= LARGEST:
        raise BadValue(f"{_shown(value)} is not a whole number in range")
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not (value == 0 or SMALLEST <= value <= LARGEST):
        raise BadValue(f"{_shown(value)} is not a number in range")
    return abs(float(value))


def _positive(value: Any) -> float:
    if value == 0:
        raise BadValue("0 is no time")
    return _number(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(f"{_shown(value)} is not text")
    return as_text(value)


def _digits(value: Any) -> str:
    if not isinstance(value, str) or not _SIZE.fullmatch(value):
        raise BadValue(f"{_shown(value)} is not the text of a whole number")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"{_shown(value)} is not true or false")
    return value


def _nothing(value: Any) -> None:
    if value is not None:
        raise BadValue(f"{_shown(value)} is not null")


def _one_of(allowed: tuple[Any, ...], value: Any) -> Any:
    if not isinstance(value, str | int) or value not in allowed:
        raise BadValue(f"{_shown(value)} is none of {', '.join(map(str, allowed))}")
    return value


def _union(decoders: tuple[Decoder, ...], value: Any) -> Any:
    reasons = []
    for decoder in decoders:
        try:
            return decoder(value)
        except BadValue as error:
            reasons.append(str(error))
    raise BadValue(reasons[0])


def _sequence(decoder: Decoder, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise BadValue(f"{_shown(value)} is not a list")
    return tuple(map(decoder, value))


def _fixed(decoders: tuple[Decoder, ...], value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple) or len(value) != len(decoders):
        raise BadValue(f"{_shown(value)} is not a list of {len(decoders)}")
    return tuple(decoder(one) for decoder, one in zip(decoders, value, strict=True))


def _mapping(key_decoder: Decoder, decoder: Decoder, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadValue(f"{_shown(value)} is not an object")
    return {key_decoder(key): decoder(one) for key, one in value.items()}


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


_SCALARS: dict[Any, Decoder] = {
    int: _whole,
    float: _number,
    str: _text,
    bool: _flag,
    type(None): _nothing,
}
_ANNOTATED: dict[str, Decoder] = {
    "signed": functools.partial(_whole, lowest=-LARGEST),
    "positive": _positive,
    "digits": _digits,
}
