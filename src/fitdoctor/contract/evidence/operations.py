"""The operations of some steps, as the framework's own profiler saw them."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.results import result

# Copies on a GPU, which are operations of their own.
TO_DEVICE, FROM_DEVICE = "copy to the GPU", "copy from the GPU"
COPY_INSIDE, MEMSET = "copy on the GPU", "memset"
# Before the name of a kernel that no operation is known to have started.
KERNEL = "kernel "
# The host is in the way of these only.
BETWEEN = frozenset({TO_DEVICE, FROM_DEVICE})
COPIES = BETWEEN | {COPY_INSIDE, MEMSET}
# A GPU takes 1 to 2 microseconds for a kernel that does nothing: as short a one is all start.
SHORT_KERNEL_NS = 3_000.0


@dataclass(frozen=True, kw_only=True)
class OperationTime:
    """All operations of one kind in one layer."""

    op: str
    layer: str | None = None  # the innermost layer that it is in
    within: str | None = None  # the outermost one that is no model
    backward: bool = False
    ns: float  # per step; operations that ran at the same time share it
    count: float = 1.0  # per step

    @property
    def is_short(self) -> bool:
        """Of kernels: each of them takes little more than its start."""
        return self.op not in COPIES and self.ns <= SHORT_KERNEL_NS * self.count


@result("operations")
@dataclass(frozen=True)
class Operations:
    """Where a step's time goes, operation by operation; with the idle time they sum to it."""

    steps: int
    wall_ns: float  # of one step under the profiler
    idle_ns: float  # of one step: no operation was running
    count: float  # operations per step
    rows: tuple[OperationTime, ...] = ()
    # Layers of Keras's own that are a few operations each: no recurrence, nothing of the user's.
    kernels: tuple[str, ...] = ()
    # Of a loop's own iterations, not of a step called by itself.
    in_loop: bool = False
    # Kernels and copies of a GPU: the idle time is the GPU's, and the profiler did not slow them.
    on_device: bool = False
    single_rows: int = 0  # calls of the model on one row, in one iteration of a loop

    @property
    def whole_ns(self) -> float:
        """One step under the profiler, as its pieces."""
        return sum(row.ns for row in self.rows) + self.idle_ns

    @property
    def busy_ns(self) -> float:
        """Of one step, with an operation running."""
        return sum(row.ns for row in self.rows)

    @property
    def short_kernels(self) -> float:
        """Of a GPU, so many per step take little more than their start."""
        return sum(row.count for row in self.rows if row.is_short)

    def starting_ns(self, step_ns: float) -> float:
        """Of a GPU, what a step that takes so long without the profiler spends on starting.

        Kernels that are little more than their start, and the gaps between all of them.
        """
        short = sum(row.ns for row in self.rows if row.is_short)
        return min(step_ns, short + max(0.0, step_ns - self.busy_ns))

    @property
    def outside_share(self) -> float:
        """Of a step, operations in no layer: loss, metrics, optimizer, the user's own."""
        outside = sum(row.ns for row in self.rows if row.within is None)
        return outside / self.whole_ns if self.whole_ns > 0 else 0.0
