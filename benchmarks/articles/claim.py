"""What a claim is: who says it, how it is measured, what the measurement says of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

# Does its work and returns the seconds that count.
Variant = Callable[[], float]


@dataclass(frozen=True)
class Timed:
    """Ways to do the same; the others are compared with the first."""

    variants: dict[str, Variant]


@dataclass(frozen=True)
class Seen:
    """What was observed once, in words."""

    facts: dict[str, str]
    timed: bool = False  # whether other processes could have changed it


@dataclass(frozen=True)
class Claim:
    """One sentence that people repeat, and what became of it."""

    id: str
    source: str  # "article 000, example 1", or "popular advice"
    says: str
    verdict: Literal["true", "false", "depends"]
    because: str
    measure: Callable[[], Timed | Seen] | None = None
    backends: tuple[str, ...] = ("tensorflow",)
    # Where no such measurement is made here: what is, and the command that repeats it.
    elsewhere: str = ""
    command: str = ""
