"""The stages of a grain dataset, from the last to its source, with the user's functions in them.

`parents` is grain's public way up the chain. Which function a stage calls is kept in a private
field (`_transform`); where that is gone a stage has no line, and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fitdoctor.contract.evidence.loading import StageFacts
from fitdoctor.inside.ledger.callsite import is_user_file

_ENDINGS = ("MapDataset", "IterDataset", "DatasetIterator", "Dataset")
# What a transformation's class calls its own work.
_METHODS = ("map", "random_map", "filter", "map_with_index", "flat_map")
MOST_STAGES = 50


class Stage(NamedTuple):
    """One stage; `needs` is how many elements of its input make one of its own."""

    dataset: Any
    op: str
    file: str | None
    line: int | None
    needs: int


def walk(dataset: Any) -> list[Stage]:
    """The chain of a dataset; of several inputs (a mix, a zip) only the first is followed."""
    found: list[Stage] = []
    while dataset is not None and len(found) < MOST_STAGES:
        file, line = _place(dataset)
        size = getattr(dataset, "_batch_size", None)
        needs = size if isinstance(size, int) and size > 0 else 1
        found.append(Stage(dataset, _name(type(dataset).__name__), file, line, needs))
        parents: Sequence[Any] = getattr(dataset, "parents", None) or ()
        dataset = parents[0] if parents else None
    return found


def stages(dataset: Any) -> tuple[StageFacts, ...]:
    """The same as facts for the recording."""
    chain = walk(dataset)
    last = len(chain) - 1
    return tuple(
        StageFacts(
            n=number,
            op=stage.op,
            inputs=(number + 1,) if number < last else (),
            file=stage.file,
            line=stage.line,
        )
        for number, stage in enumerate(chain)
    )


def _name(type_name: str) -> str:
    """As people write it: `MapMapDataset` is what `.map()` makes."""
    name = type_name.lstrip("_")
    for ending in _ENDINGS:
        if name.endswith(ending) and name != ending:
            name = name.removesuffix(ending)
            break
    return name.lower()


def _place(dataset: Any) -> tuple[str | None, int | None]:
    function = getattr(dataset, "_transform", None)
    methods = [getattr(type(function), name, None) for name in _METHODS]
    for candidate in (function, *methods):
        code = getattr(candidate, "__code__", None)
        if code is not None and is_user_file(code.co_filename):
            return code.co_filename, code.co_firstlineno
    return None, None
