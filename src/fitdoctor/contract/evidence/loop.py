"""Hand-written loops, and groups of repeated calls."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitdoctor.contract.evidence.timing import NativePart, Timed, TimedBeside
from fitdoctor.contract.results import result


@dataclass(frozen=True)
class LoopShare:
    """Time of the loop's thread in one part of its body."""

    ns: int
    cpu_ns: int = 0  # of the loop's own thread
    process_cpu_ns: int = 0
    samples: int = 0
    lock_held: int = 0
    lines: tuple[tuple[str, int, str, int], ...] = ()


@result("loop_lines")
@dataclass(frozen=True)
class LoopLines:
    """A loop that was watched: loading, step, and the user's own code between them."""

    loading: LoopShare
    step: LoopShare
    own: LoopShare
    iterations: int
    reads: LoopShare = LoopShare(0)  # of values by Python; a line's third item is its text
    maker: tuple[str, int, str] | None = None  # the function that makes an element
    native: NativePart | None = None


@result("repeat_call")
@dataclass(frozen=True, kw_only=True)
class RepeatedCall(Timed):
    """The loop's compiled function again with the same arguments."""


@result("placed_arguments")
@dataclass(frozen=True, kw_only=True)
class PlacedArguments(TimedBeside):
    """The compiled function with its large NumPy arrays, the same ones every time, as tensors."""

    bytes: int
    shapes: tuple[str, ...] = ()


@result("idle_gradients")
@dataclass(frozen=True, kw_only=True)
class IdleGradients(TimedBeside):
    """The loop without the gradients that no optimizer uses, beside the loop as it is."""

    weights: int
    of_weights: int  # in the models that the loop trains
    name: str  # of the largest such weight


@result("compiled_loop")
@dataclass(frozen=True, kw_only=True)
class CompiledLoop(Timed):
    """The loop with the switch off that makes functions run eagerly."""

    switch: str
    file: str | None = None
    line: int | None = None


@result("compiled_step")
@dataclass(frozen=True, kw_only=True)
class CompiledStep(Timed):
    """The loop's step function compiled, or a reference step in its place."""

    stands_for: str = "step function"
    file: str | None = None
    line: int | None = None
    function: str | None = None
    numbers_read: int = 0
    eager: Timed | None = None


@result("compiled_agrees")
@dataclass(frozen=True)
class CompiledAgrees:
    """Whether the compiled step trains as the eager one does, bit by bit."""

    same: bool


@result("alternatives")
@dataclass(frozen=True)
class CallAlternatives:
    """The repeated call itself, and other ways to make it."""

    same: Timed
    alternatives: dict[str, Timed] = field(default_factory=dict)
