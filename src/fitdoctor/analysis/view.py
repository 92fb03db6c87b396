"""One workload as a rule sees it: costs, evidence and the machine, with missing as None."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.asynchronous import as_computed
from fitdoctor.analysis.beginning import Beginning
from fitdoctor.analysis.costs import Costs
from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.evidence_view import EvidenceView
from fitdoctor.analysis.host_lines import HostLine
from fitdoctor.analysis.loader import Loader
from fitdoctor.contract.evidence.step import BatchScaling, FrozenInLoop, LoopAlone
from fitdoctor.contract.records import Event, RecordedWorkload
from fitdoctor.intervals import Interval

# Loading takes this many frozen steps or more: it is what a step mostly consists of.
LOADING_DOMINATES = 3.0
# A frozen step over what lies between two real ones: the host only enqueues, and runs ahead.
RUNS_AHEAD = 1.5
# What Keras's own loop takes around a step where it was not measured: 0.2 ms on JAX.
KERAS_LOOP_NS = 200_000.0
# A loop this many times longer than the step in it is the loop's own length.
LOOP_SHOWS = 1.5


@dataclass(frozen=True, kw_only=True)
class View(EvidenceView):
    """What rules may look at; they decide on evidence, never on names in the script."""

    costs: Costs
    loader: Loader | None
    backend: str
    cpus: int
    is_group: bool
    compile_calls: tuple[Event, ...] = ()  # model.compile() anywhere in the script
    frozen_cores: float = 1.0  # CPU use of the step on a frozen batch
    accelerators: int = 0
    was_cut: bool = False  # the script was ended after its examination
    # Spans of the run with the rate of pages read from disk in them: begin, end, per second.
    faulting: tuple[tuple[int, int, float], ...] = ()
    memory_share: float | None = None  # the most that was used of what may be used
    inner: tuple[RecordedWorkload, ...] = ()  # calls of Keras that it makes itself, in callbacks
    validations: tuple[RecordedWorkload, ...] = ()  # lines of evaluate between a loop's steps
    lines: tuple[HostLine, ...] = ()  # the user's other lines while its calls ran, with shares
    keras_version: str | None = None
    beginning: Beginning | None = None  # up to the end of the first step, from the process's start

    @property
    def is_length_known(self) -> bool:
        """Whether the training ended by itself, or its arguments tell how long it would be."""
        return not self.was_cut or (self.steps_per_epoch is not None and self.passes is not None)

    @property
    def planned_steps(self) -> int:
        """Steps that the run would take in all, as far as its arguments tell; else those seen."""
        per_epoch, passes = self.steps_per_epoch, self.passes
        if per_epoch is None or passes is None:
            return self.costs.steps
        return max(self.costs.steps, round(per_epoch * passes))

    @property
    def input_gain(self) -> Interval | None:
        """Step now over step on a frozen batch: what curing all input could give."""
        if self.frozen is None or self.is_group:
            return None
        serial = max(0.0, self.costs.total.value - self.core.value)
        return self.costs.total.divided_by(self.ceiling_step + Interval.exact(serial))

    @property
    def runs_ahead(self) -> bool:
        """Whether the host's clock shows enqueuing, not computing (JAX)."""
        if self.frozen is None or self.is_group or self.backend != "jax":
            return False
        return self.frozen.value > RUNS_AHEAD * min(self.costs.core.value, self.costs.median_ns)

    @property
    def parts(self) -> dict[str, float]:
        """Where the time of a step goes: by the host's clock, or as the device computes."""
        if self.frozen is None or self.is_group or self.backend != "jax":
            return dict(self.costs.parts)
        return as_computed(self.costs.parts, self.core.value, self.frozen.value)

    @property
    def core(self) -> Interval:
        """One step to the next, without what batch callbacks, saves and compiles add.

        A frozen step is left at least: where dispatch is asynchronous (JAX), a callback that
        reads a number waits for the device, and that is the step, not the callback.
        """
        core = self.costs.core
        most = core.value - (self.frozen.value if self.frozen is not None else 0.0)
        return core.minus(Interval.exact(max(0.0, min(sum(self.costs.beside.values()), most))))

    @property
    def ceiling_step(self) -> Interval:
        """The frozen step, or what loading cannot explain of the real one, if that is more.

        Input costs at most what loading a batch takes. The rest of a real step, Keras's
        loop and its callbacks' thread, stays when the data is in memory. Where loading is
        most of the step, though, the rest is mostly loading too, slower beside the step's
        threads than alone: then both are taken to be slowed alike, and Keras's loop to stay.
        """
        frozen = self.frozen or self.core
        loading = self.costs.parts.get("input_wait", 0.0)
        if self.loader is not None:
            loading = max(loading, self.loader.ns.value)
        rest = max(1.0, self.core.value - loading)
        in_loop = self.frozen_in_loop or frozen
        if loading > LOADING_DOMINATES * frozen.value:
            alike = frozen.value * self.core.value / (loading + frozen.value)
            loop = KERAS_LOOP_NS if self.frozen_in_loop is None else in_loop.value - frozen.value
            rest = min(rest, alike + loop)
        return Interval.maximum(in_loop, Interval.exact(rest))

    @property
    def frozen_in_loop(self) -> Interval | None:
        """The frozen step with what Keras does around each; None where that was not measured."""
        measured = self.timed(FrozenInLoop)
        if measured is None or self.frozen is None:
            return None
        return Interval.maximum(self.frozen, measured)

    @property
    def host_loop(self) -> Interval | None:
        """Keras's loop alone, where the device computes beside it; None where that is not known.

        Around a step of one row; where that takes nearly all of it, the loop hides behind the step.
        """
        found, in_loop = self.found(LoopAlone), self.timed(LoopAlone)
        alone = from_windows(found.alone.ns) if found is not None else None
        if in_loop is None or alone is None or in_loop.value < LOOP_SHOWS * alone.value:
            return None
        return in_loop

    @property
    def dispatch_share(self) -> float | None:
        """The part of a frozen step that does not grow with the batch: starting its operations."""
        scaling = self.found(BatchScaling)
        if scaling is None or self.frozen is None:
            return None
        times = {int(rows): from_windows(one.ns) for rows, one in scaling.sizes.items()}
        known = sorted((rows, one.value) for rows, one in times.items() if one is not None)
        if len(known) < 2:
            return None
        (fewer, short), (more, long) = known[0], known[-1]
        per_row = max(0.0, (long - short) / (more - fewer))
        fixed = max(0.0, short - per_row * fewer)
        return fixed / max(1.0, fixed + per_row * scaling.rows)
