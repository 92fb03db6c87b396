"""What probes found: one frozen dataclass per result, known by its name in the recording.

A class of `contract/evidence/` registers itself with `@result("frozen_batch")`. The probe returns
an object of the class, the recording keeps it under the name, and rules ask for the class.
A family (`@result("step", keyed=True)`) has one result per key: `step_float32` is ("step",
"float32").
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from fitdoctor.contract.codec import decode, encode

Result = TypeVar("Result")

_EVIDENCE = "fitdoctor.contract.evidence"
_names: dict[type, str] = {}
_kinds: dict[str, type] = {}
_families: dict[str, type] = {}


def result(name: str, *, keyed: bool = False) -> Callable[[type[Result]], type[Result]]:
    """Register a dataclass as what a probe of this name finds."""

    def register(kind: type[Result]) -> type[Result]:
        known = _families if keyed else _kinds
        if name in known and known[name].__qualname__ != kind.__qualname__:
            raise TypeError(f"two results are called {name}")
        known[name] = kind
        _names[kind] = name
        return kind

    return register


@functools.cache
def _load() -> None:
    package = importlib.import_module(_EVIDENCE)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{_EVIDENCE}.{module.name}")


def all_kinds() -> dict[str, type]:
    """Every registered result by its name; families by theirs."""
    _load()
    return {**_kinds, **_families}


def is_family(kind: type) -> bool:
    """Whether there is one result per key."""
    return _families.get(_names[kind]) is kind


def recorded_name(kind: type, key: str = "") -> str:
    """The name under which a recording keeps a result."""
    name = _names[kind]
    return f"{name}_{key}" if key else name


def kind_of(name: str) -> tuple[type, str] | None:
    """The class and key behind a recorded name; None where this version knows none."""
    _load()
    if name in _kinds:
        return _kinds[name], ""
    parts = [one for one in _families if name.startswith(f"{one}_")]
    if not parts:
        return None
    family = max(parts, key=len)
    return _families[family], name.removeprefix(f"{family}_")


def from_record(name: str, data: Any) -> object | None:
    """The checked result; None where this version does not know the name.

    Raises:
        BadValue: the data do not fit.
    """
    found = kind_of(name)
    return None if found is None else cast(object, decode(found[0], data))


def to_record(found: object) -> dict[str, Any]:
    """The form in the recording."""
    return cast(dict[str, Any], encode(found))


@dataclass(frozen=True)
class Evidence:
    """All results of one workload: asked for by their class, None where there is none."""

    by_name: Mapping[str, object] = field(default_factory=dict)

    def found(self, kind: type[Result], key: str = "") -> Result | None:
        """The result of this class; of a family, the one with this key."""
        return cast("Result | None", self.by_name.get(recorded_name(kind, key)))
