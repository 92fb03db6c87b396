"""What a source is: items that can be read range by range, in blocks, in any process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fitdoctor.pack.columns import Columns
from fitdoctor.pack.shard import Skipped

# A smaller shard costs more to open than it gains by being read beside others.
SMALLEST_SHARD_BYTES = 1 << 20


@dataclass(frozen=True)
class Range:
    """Items from start to before stop, and what the source needs to find them."""

    start: int
    stop: int
    detail: tuple[int, ...] = ()

    def to_json(self) -> list[Any]:
        return [self.start, self.stop, list(self.detail)]

    @staticmethod
    def from_json(data: list[Any]) -> Range:
        return Range(data[0], data[1], tuple(data[2]))


@dataclass
class Block:
    """Some items: either elements one by one, or columns of rows; and those that are bad."""

    items: int
    elements: list[tuple[str, Any]] = field(default_factory=list)  # name and raw element
    columns: Columns | None = None
    name_of: Callable[[int], str] = str  # of a row of the columns
    bad: list[Skipped] = field(default_factory=list)
    images: list[dict[str, Any]] = field(default_factory=list)  # facts of encoded images
    is_normal: bool = False  # the elements are flat dicts of bytes and arrays already

    def each(self) -> Iterator[tuple[str, Any]]:
        """The elements with their names, whatever form the block has."""
        if self.columns is None:
            yield from self.elements
            return
        for row in range(len(next(iter(self.columns.values())))):
            element = {
                # `[row]` of a vector would be a NumPy number; `[row, ...]` stays an array.
                name: column[row] if isinstance(column, list) else column[row, ...]
                for name, column in self.columns.items()
            }
            yield self.name_of(row), element


class Source(Protocol):
    """Items by number, readable in several processes at once."""

    def facts(self) -> dict[str, Any]:
        """What must be the same for a pack to be continued; plain JSON."""

    def ranges(self, shard_bytes: int, at_least: int) -> list[Range]:
        """Ranges of about this many bytes, in order, that hold every item once."""

    def blocks(self, part: Range) -> Iterator[Block]:
        """The items of a range."""


class Stream(Protocol):
    """Items that come one after another and cannot be asked for by number."""

    def facts(self) -> dict[str, Any]:
        """What must be the same for a pack to be continued; plain JSON."""

    def elements(self) -> Iterator[tuple[str, Any]]:
        """All items with their names, from the first one."""


@dataclass
class Records:
    """A stream of bytes that are stored as they are; no schema says what is in them."""

    identity: dict[str, Any]
    opened: Callable[[], Iterable[bytes]]

    def facts(self) -> dict[str, Any]:
        return {"kind": "records", **self.identity}

    def elements(self) -> Iterator[tuple[str, Any]]:
        return ((f"record {number}", record) for number, record in enumerate(self.opened()))


def even_ranges(count: int, item_bytes: float, shard_bytes: int, at_least: int) -> list[Range]:
    """Ranges of items that are all of about one size."""
    return ranges_by_edges(
        np.arange(1, count + 1, dtype=np.float64) * max(item_bytes, 1e-9), shard_bytes, at_least
    )


def ranges_by_edges(ends: npt.NDArray[np.float64], shard_bytes: int, at_least: int) -> list[Range]:
    """Ranges of items, given the bytes of all items up to and with each.

    At least `at_least` of them where there is enough for it, so that many can write and read.
    """
    if not len(ends):
        return []
    total = float(ends[-1])
    wanted = max(round(total / shard_bytes), min(at_least, int(total // SMALLEST_SHARD_BYTES)), 1)
    wanted = min(wanted, len(ends))
    cuts = np.searchsorted(ends, total * np.arange(1, wanted) / wanted, side="right")
    edges = [0, *sorted({int(cut) for cut in cuts} - {0, len(ends)}), len(ends)]
    return [Range(a, b) for a, b in itertools.pairwise(edges)]
