"""Work timed in windows: what most results consist of."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.codec import Positive


@dataclass(frozen=True, kw_only=True)
class Timed:
    """Nanoseconds per unit of work, window by window, and the CPU use meanwhile."""

    ns: tuple[Positive, ...]
    units: int = 0
    clean: bool = True  # other processes left us alone
    dirty_windows: int = 0
    own_cores: float = 1.0
    children_cores: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TimedBeside(Timed):
    """Changed work, in turns with the work as it is (`base_ns`)."""

    base_ns: tuple[Positive, ...] | None = None
    first_ns: int | None = None  # the first time, which compiles


@dataclass(frozen=True)
class Stacks:
    """What threads were seen doing, sample by sample."""

    samples: int
    user_share: float  # of the samples: the user's Python code was running
    lock_share: float  # of the samples: the interpreter lock was held
    lines: tuple[tuple[str, int, str, int], ...] = ()
    functions: tuple[tuple[str, int, str, int], ...] = ()


@dataclass(frozen=True)
class NativePart:
    """One batch that was traced while Python made it: how much of it native calls did."""

    native_ns: int
    traced_ns: int
    complete: bool
    events: int = 0
    random: bool | None = None  # a function that draws random numbers was called
