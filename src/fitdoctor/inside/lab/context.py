"""What one examination has: the fit or loop it looks at, and what its probes found so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from fitdoctor.contract.evidence.loading import LoaderAlone
from fitdoctor.contract.evidence.memory import MemoryWhileTraining
from fitdoctor.contract.evidence.step import FrozenBatch, StepAlone
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.probe import NotAvailable, Subject
from fitdoctor.inside.lab.trial_step import TrialStep
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.workload import Workload
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.backends.device import device_facts
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads
from fitdoctor.inside.seams.inputs.live_source import LiveSource
from fitdoctor.inside.seams.watch.eager_switch import eager_switch

Found = TypeVar("Found")
Made = TypeVar("Made")

# Real over frozen step from which on loading is probed: below, the step itself explains it.
INPUT_MATTERS = 1.03


@dataclass(kw_only=True)
class Context:
    """Everything that a probe may look at; the scheduler adds what each probe found."""

    recorder: Recorder
    backend: Backend
    subject: Subject
    workload: Workload
    call: Call | None = None
    loop: Loop | None = None
    arguments: tuple[Any, ...] = ()  # of the last step, while a fit is still running
    result: Any = None  # of the last step, while a fit is still running
    may_consume: bool = False  # a batch may be taken from the user's running iterator
    period_ns: float | None = None  # from one real step to the next
    hdf5: Hdf5Reads = field(default_factory=Hdf5Reads)
    trial: TrialStep | None = None  # the step to experiment with; of a fit, once its batch is known
    why_no_trial: str = "the training step was not seen"
    live_source: LiveSource | None = None  # what a loop reads that cannot be read again
    keep_running: bool = False  # the script continues after the examination
    memory: MemoryWhileTraining | None = None  # between the steps so far
    batch: Any = None  # the frozen batch, set by the probe that finds `FrozenBatch`
    results: dict[str, object] = field(default_factory=dict)  # by recorded name
    _shared: dict[str, object] = field(default_factory=dict)
    _closers: list[Callable[[], None]] = field(default_factory=list)

    # -- what was found ------------------------------------------------------------

    def found(self, kind: type[Found], key: str = "") -> Found | None:
        """An earlier result of this examination, or None."""
        return cast("Found | None", self.results.get(recorded_name(kind, key)))

    def keep(self, found: object, name: str) -> None:
        """Remember a result for later probes."""
        self.results[name] = found

    @property
    def step_ns(self) -> float | None:
        """The step on the frozen batch; None where it was not timed."""
        alone = median_ns(self.found(StepAlone))
        return alone if alone is not None else median_ns(self.found(FrozenBatch))

    @property
    def loader_ns(self) -> float:
        """One batch of the loader alone, or of a generator in place; 0 where neither is known."""
        alone = median_ns(self.found(LoaderAlone))
        source = self.call.source if self.call is not None else None
        in_place = source.wall_ns / source.count if source is not None and source.count else 0.0
        return alone or in_place

    @property
    def input_matters(self) -> bool:
        """Whether loading is probed: the frozen step does not already explain the real one."""
        if self.step_ns is None or self.period_ns is None:
            return True
        return self.period_ns > INPUT_MATTERS * self.step_ns

    # -- what is examined ----------------------------------------------------------

    @property
    def fit(self) -> Call:
        """The call that is examined.

        Raises:
            NotAvailable: a loop is examined.
        """
        if self.call is None:
            raise NotAvailable("there is no call of Keras")
        return self.call

    @property
    def step_function(self) -> Callable[..., Any]:
        """The user's own compiled step.

        Raises:
            NotAvailable: it was not seen.
        """
        if self.fit.step_function is None:
            raise NotAvailable("the training step was not seen")
        return self.fit.step_function

    @property
    def adapter(self) -> Any:
        """Keras's data adapter of the running epoch, or None."""
        iterator = self.call.epoch_iterator if self.call is not None else None
        return getattr(iterator, "data_adapter", None)

    @property
    def model(self) -> Any:
        """The model that is trained; of several in a loop, the largest.

        Raises:
            NotAvailable: it was not seen.
        """
        return self.trial.model if self.trial is not None else self.fit.model

    @property
    def step(self) -> TrialStep:
        """The step to experiment with.

        Raises:
            NotAvailable: there is none.
        """
        if self.trial is None:
            raise NotAvailable(self.why_no_trial)
        return self.trial

    @property
    def is_one_shot(self) -> bool:
        """Whether the data is a generator, which can be read only once."""
        return self.call is not None and self.call.source is not None

    @property
    def is_eager(self) -> bool:
        """Op by op where the backend would compile; torch never compiles by itself."""
        if self.backend.name == "torch":
            return False
        if eager_switch(self.backend.name) is not None:
            return True
        if self.call is None:
            return self.trial is not None and self.trial.is_eager
        model = self.call.model
        # On JAX, a step without jit runs op by op.
        return bool(model.run_eagerly) or (
            self.backend.name == "jax" and getattr(model, "jit_compile", None) is False
        )

    @property
    def is_spread(self) -> bool:
        """Whether a fit runs on several devices.

        Steps of two programs that have to meet on every device sometimes wait for each other
        forever (XLA on two CPU devices ended the script in two of four examinations).
        """
        return self.subject is Subject.FIT and device_facts(self.backend.name).replicas > 1

    @property
    def on_gpu(self) -> bool:
        """Whether Keras computes on a GPU."""
        return device_facts(self.backend.name).kind == "gpu"

    # -- what probes share ---------------------------------------------------------

    def shared(self, key: str, make: Callable[[], Made]) -> Made:
        """An apparatus that probes of one phase use, made when the first of them asks for it."""
        if key not in self._shared:
            self._shared[key] = make()
        return cast(Made, self._shared[key])

    def on_close(self, callback: Callable[[], None]) -> None:
        """Have something done at the end of the phase, the last added first."""
        self._closers.append(callback)

    def close(self) -> None:
        """Give back what probes shared; called by the scheduler."""
        self._shared.clear()
        while self._closers:
            self._closers.pop()()


def median_ns(timed: Timed | None) -> float | None:
    """The median window, or None."""
    values = sorted(timed.ns) if timed is not None else []
    return float(values[len(values) // 2]) if values else None
