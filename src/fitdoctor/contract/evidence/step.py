"""The training step by itself: on one batch in memory, at other sizes, under other settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from fitdoctor.contract.codec import Digits
from fitdoctor.contract.evidence.timing import Timed, TimedBeside
from fitdoctor.contract.results import result


@result("frozen_batch")
@dataclass(frozen=True, kw_only=True)
class FrozenBatch(Timed):
    """Steps on one batch kept in memory: the ceiling of the step."""

    rows: int | None = None


@result("step_alone")
@dataclass(frozen=True, kw_only=True)
class StepAlone(Timed):
    """The step of a hand-written loop, or of `train_on_batch`, without the loop around it."""

    rows: int | None = None
    stands_in: bool = False  # forward, backward and update instead of the loop's own body


@result("frozen_again")
@dataclass(frozen=True, kw_only=True)
class FrozenAgain(Timed):
    """The same some seconds later: a shared machine changes its pace."""

    rows: int | None = None


@result("frozen_in_loop")
@dataclass(frozen=True, kw_only=True)
class FrozenInLoop(Timed):
    """Steps on the frozen batch inside Keras's own loop."""


@result("loop_alone")
@dataclass(frozen=True, kw_only=True)
class LoopAlone(Timed):
    """Keras's loop around a step of one row, and that step alone."""

    alone: Timed


@result("batch_scaling")
@dataclass(frozen=True)
class BatchScaling:
    """Steps at other batch sizes, by the number of rows."""

    rows: int
    sizes: dict[Digits, Timed] = field(default_factory=dict)
    ended: str | None = None  # why no larger one was tried


@result("part_of_batch")
@dataclass(frozen=True, kw_only=True)
class PartOfBatch(Timed):
    """The step on a quarter of the batch, where the device has too little memory."""

    rows: int
    of_rows: int


@result("progress_bar")
@dataclass(frozen=True)
class ProgressBar:
    """Steps inside Keras's loop, with its progress bar and without."""

    without_bar: Timed
    with_bar: Timed


@result("steps_per_execution", keyed=True)
@dataclass(frozen=True, kw_only=True)
class StepsPerExecution(TimedBeside):
    """So many steps (the key) in one execution."""


@result("jit_off")
@dataclass(frozen=True, kw_only=True)
class WithoutJit(TimedBeside):
    """The step without XLA or torch.compile."""


@result("jit_on")
@dataclass(frozen=True, kw_only=True)
class WithJit(TimedBeside):
    """The step compiled by XLA, where it is not."""


@result("without_checks")
@dataclass(frozen=True, kw_only=True)
class WithoutChecks(TimedBeside):
    """The step without the checks that a debugging switch makes on every operation."""

    switch: str  # as it is written in a script
    file: str | None = None
    line: int | None = None


@result("graph_trial")
@dataclass(frozen=True, kw_only=True)
class CompiledFit(Timed):
    """An eager step compiled, alone and inside Keras's loop."""

    in_loop: Timed
    switch: str | None = None  # what made it eager, if not an argument
    without_jit: tuple[str, ...] = ()  # types of layers for which Keras switched jit off
    file: str | None = None
    line: int | None = None


@result("step_python")
@dataclass(frozen=True)
class PythonInSteps:
    """The user's functions that ran during compiled steps: file, first line, name, count.

    On torch, nanoseconds away from torch instead of counts.
    """

    samples: int
    functions: tuple[tuple[str, int, str, int], ...] = ()
    without_steps: tuple[tuple[str, int, str, int], ...] = ()


@result("threads")
@dataclass(frozen=True)
class Threads:
    """Threads asked for, and cores allowed."""

    asked: int | None
    allowed: int
    backend: str
