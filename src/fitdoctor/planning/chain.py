"""A chain of stages with what each costs, and the moves that may make it cheaper.

Whether a move keeps the elements is for data to say: here is only what would be worth it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Order = tuple[int, ...]  # numbers of stages, the last one first, as they are written down
Kind = Literal["filter", "skip", "smaller", "batch", "shuffle"]

# Work that is less of the whole pipeline than this is not worth moving.
NOTABLE_SHARE = 0.05
# A filter that drops less is as well where it is.
DROPPED_SHARE = 0.05
# Longer work per element is no overhead: one call for a whole batch gains nothing.
SHORT_ELEMENT_NS = 300_000.0
SMALLEST_BATCH = 4
# A buffer that fills within this time is left where it is.
NOTABLE_FILL_NS = 50_000_000.0
# Stages that hand on the same elements, in one order or another.
HANDS_ON = frozenset({"AssertCardinalityDataset", "prefetch", "repeat", "shuffle", "skip", "take"})


@dataclass(frozen=True)
class ChainStage:
    """One stage, per batch of the whole pipeline."""

    number: int
    op: str
    cpu_ns: float = 0.0
    wait_ns: float = 0.0
    per_batch: float = 1.0  # elements that it gives
    element_bytes: float | None = None
    elements: float | None = None  # that it gives in one pass, where that is known
    python: bool = False
    random: bool = False
    cacheable: bool = False  # it and all before it give the same in every pass
    calls: int | None = None  # num_parallel_calls as written; -1 is AUTOTUNE
    setting: int = 0  # batch size, buffer size or count

    @property
    def work_ns(self) -> float:
        """What it takes alone."""
        return self.cpu_ns + self.wait_ns

    @property
    def is_movable(self) -> bool:
        """Whether it gives the same for the same element, whatever came before."""
        return self.op == "map" and not self.random


class Move(NamedTuple):
    """`stage` goes right after `past`, and so past all that lies between them."""

    stage: int
    past: int
    kind: Kind


def moved(order: Order, move: Move) -> Order:
    """The order after a move."""
    rest = [number for number in order if number != move.stage]
    at = rest.index(move.past)  # what comes first here is nearer to the end
    return (*rest[:at], move.stage, *rest[at:])


def moves(stages: Mapping[int, ChainStage], order: Order) -> list[Move]:
    """Moves of one stage that would save work, those first that save most of it."""
    chain = [stages[number] for number in order]
    total = sum(stage.work_ns for stage in chain) or 1.0
    found: list[Move] = []
    for at, later in enumerate(chain):
        above = _nearest_map(chain, at)
        if above is None:
            continue
        kind = _kind(later, above, chain, total)
        if kind is not None:
            found.append(Move(above.number, later.number, kind))
    first = ("filter", "skip", "smaller", "batch", "shuffle")
    return sorted(found, key=lambda move: first.index(move.kind))


def _nearest_map(chain: Sequence[ChainStage], at: int) -> ChainStage | None:
    """The map that a stage reads, with nothing but hand-ons between."""
    for stage in chain[at + 1 :]:
        if stage.is_movable:
            return stage
        if stage.op not in HANDS_ON:
            return None
    return None


def _kind(
    later: ChainStage, above: ChainStage, chain: Sequence[ChainStage], total: float
) -> Kind | None:
    """Why a map should come after a later stage; None where it should not."""
    is_notable = above.work_ns >= NOTABLE_SHARE * total
    if later.op == "filter" and not later.random:
        return "filter" if is_notable and kept_share(later, chain) < 1 - DROPPED_SHARE else None
    if later.op == "skip":
        return "skip" if is_notable and later.setting > 0 else None
    if later.op == "batch":
        is_short = above.work_ns < SHORT_ELEMENT_NS * above.per_batch
        return "batch" if is_short and later.setting >= SMALLEST_BATCH else None
    if later.op == "shuffle":
        fill = later.setting * above.work_ns / max(1.0, above.per_batch)
        return "shuffle" if fill >= NOTABLE_FILL_NS else None
    if later.is_movable:
        return "smaller" if _saved_by_size(above, later, chain) >= NOTABLE_SHARE * total else None
    return None


def kept_share(stage: ChainStage, chain: Sequence[ChainStage]) -> float:
    """Of the elements that a filter reads, those that it gives."""
    before = next((one for one in _before(stage, chain) if one.op not in HANDS_ON), None)
    return min(1.0, stage.per_batch / before.per_batch) if before and before.per_batch else 1.0


def _saved_by_size(first: ChainStage, later: ChainStage, chain: Sequence[ChainStage]) -> float:
    """What the other order saves, where work grows with the bytes that it is done on."""
    shrinks, grows = _size_ratio(later, chain), _size_ratio(first, chain)
    if shrinks is None or grows is None:
        return 0.0
    return first.work_ns * (1.0 - shrinks) + later.work_ns * (1.0 - 1.0 / grows)


def _size_ratio(stage: ChainStage, chain: Sequence[ChainStage]) -> float | None:
    """Bytes of an element after a stage over before it."""
    before = next(_before(stage, chain), None)
    if before is None or not before.element_bytes or not stage.element_bytes:
        return None
    return stage.element_bytes / before.element_bytes


def _before(stage: ChainStage, chain: Sequence[ChainStage]) -> Iterator[ChainStage]:
    at = next(n for n, one in enumerate(chain) if one.number == stage.number)
    return iter(chain[at + 1 :])
