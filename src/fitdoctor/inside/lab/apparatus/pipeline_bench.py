"""A tf.data pipeline on the bench: the cost of its stages, and the same pipeline changed."""

from __future__ import annotations

import time
from typing import Any, ClassVar, TypeVar

from fitdoctor.contract.evidence.loading import LoaderAlone
from fitdoctor.contract.evidence.pipeline import OnePass, StageTimes
from fitdoctor.inside.lab.apparatus.ablation import Ablation
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators, time_dataset
from fitdoctor.inside.lab.apparatus.slow_input import IDLE_CORES, slow_adapter
from fitdoctor.inside.lab.apparatus.windows import TimedFields
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.probe import NotAvailable, Phase, Probe, Subject
from fitdoctor.inside.seams.backends.randomness import global_state
from fitdoctor.inside.seams.inputs import tf_edits
from fitdoctor.inside.seams.inputs.generators import one_shot_source
from fitdoctor.inside.seams.inputs.loop_source import loop_source
from fitdoctor.inside.seams.inputs.tf_stages import Stage

Found = TypeVar("Found")

# A stage must take this share of a batch for its cure to be worth a trial.
NOTABLE_SHARE = 0.08
# A buffer that takes this long to fill, or elements that take this long to skip.
NOTABLE_FILL_NS = 50_000_000
# Elements of two passes that are compared: the least, and as many as this time allows, at most.
COMPARED, COMPARED_NS, MOST_COMPARED = 4, 1_000_000_000, 64
PASS_S = 4.0


class ChangedFields(TimedFields):
    """The fields of `ChangedPipeline` that every trial fills."""

    as_written: tuple[float, ...]
    as_written_first_ns: int
    first_ns: int


class PipelineBench:
    """One pipeline, its ablation, and what trials ask about its stages."""

    def __init__(
        self, dataset: Any, iterators: Iterators, ablation: Ablation | None = None
    ) -> None:
        self.dataset = dataset
        self.iterators = iterators
        self.ablation = ablation or Ablation(dataset, iterators)

    @property
    def stages(self) -> list[Stage]:
        """The last one first."""
        return self.ablation.stages

    @property
    def batch_ns(self) -> float:
        """One batch of the pipeline as written."""
        return self.ablation.times[0].ns

    @property
    def cores(self) -> float:
        """The cores that it uses meanwhile."""
        return self.ablation.times[0].cores

    def own_ns(self, stage: Stage) -> float:
        """Wall or CPU time of a stage by itself, whichever is more, per batch."""
        if stage.number not in self.ablation.times:
            return 0.0
        row = self.ablation.row(stage)
        return max(row.own_ns, row.own_cpu_ns)

    def is_notable(self, stage: Stage) -> bool:
        """Whether a stage takes enough of a batch for its cure to be tried."""
        return self.own_ns(stage) >= NOTABLE_SHARE * self.batch_ns

    def reads_wait(self) -> bool:
        """Whether the pipeline waits rather than works, where several reads could wait at once."""
        return self.cores < IDLE_CORES and any(s.op in tf_edits.PARALLEL for s in self.stages)

    def is_long(self, count: int, stage: Stage) -> bool:
        """Whether so many elements of what a stage reads take notable time."""
        timing = self.ablation.times.get(stage.inputs[0])
        return timing is not None and count * timing.ns >= NOTABLE_FILL_NS

    def up_to(self, stage: Stage) -> list[Stage]:
        """A stage and those that it reads, nearest first."""
        return [stage, *tf_edits.chain_above(self.stages, stage.number)]

    def timed_source(self, op: str) -> Stage | None:
        """The source of this kind that was timed; of several, the last one."""
        kinds = (s for s in reversed(self.stages) if s.op.startswith(op))
        return next((s for s in kinds if s.number in self.ablation.times), None)

    def repeats(self, stage: Stage) -> bool:
        """Whether two passes give the same elements, where Python makes them.

        What draws from Python's or NumPy's own generators does not, even if it happens to.
        """
        timing = self.ablation.times.get(stage.number)
        in_time = 0 if timing is None else int(COMPARED_NS / 2 / max(1.0, timing.ns))
        few = stage.dataset.take(max(COMPARED, min(MOST_COMPARED, in_time)))
        before = global_state()
        pairs = zip(few, few, strict=True)
        same = all(tf_edits.is_same(one, other) for one, other in pairs)
        return same and global_state() == before

    def timed(
        self, dataset: Any, *, skip_s: float = 0.0, skip: int = 0, options: bool = True
    ) -> ChangedFields:
        """A changed pipeline, beside the pipeline as written.

        Args:
            dataset: the changed pipeline.
            skip_s: read this long before timing, so that caches fill.
            skip: and at least so many elements.
            options: give it the options of the pipeline as written.
        """
        changed = dataset.with_options(self.dataset.options()) if options else dataset
        timing = time_dataset(changed, self.iterators, skip_s=skip_s, skip=skip)
        as_written = self.ablation.times[0]
        return ChangedFields(
            **timing.windows.fields(),
            as_written=tuple(round(ns) for ns in as_written.windows.ns),
            as_written_first_ns=as_written.first_ns,
            first_ns=timing.first_ns,
        )

    def one_pass(self, dataset: Any) -> OnePass:
        """One pass from its beginning: the first batch, and as many more as time allows."""
        begin = time.perf_counter()
        iterator = self.iterators.open(dataset)
        next(iterator)
        first = time.perf_counter() - begin
        count, whole = 1, True
        for _ in iterator:
            count += 1
            if time.perf_counter() - begin > max(PASS_S, 1.5 * first):
                whole = False
                break
        return OnePass(int(first * 1e9), int((time.perf_counter() - begin) * 1e9), count, whole)


def pipeline_bench(context: Context) -> PipelineBench | None:
    """The bench of the pipeline that a fit or a loop reads; None where probes may not read it."""

    def make() -> PipelineBench | None:
        dataset = _slow_dataset(context)
        if dataset is None or one_shot_source(dataset):
            return None
        iterators = Iterators()
        context.on_close(iterators.close)
        return PipelineBench(dataset, iterators)

    return context.shared("pipeline_bench", make)


def _slow_dataset(context: Context) -> Any:
    """The tf.data dataset whose loading is to be explained, or None."""
    if context.loop is None:
        adapter = slow_adapter(context, "tf.data")
        return None if adapter is None else adapter._dataset
    is_read = context.loop.marker == "tf.data" and context.found(LoaderAlone) is not None
    return loop_source(context.loop) if is_read else None


class PipelineProbe(Probe[Found]):
    """A probe of one pipeline whose stages were timed.

    Subclasses write `is_worth` and `tried` instead of `wanted` and `run`.
    """

    phase = Phase.INPUT
    after: ClassVar[tuple[str, ...]] = ("stages",)
    subjects = frozenset({Subject.FIT, Subject.LOOP})
    needs_whole: ClassVar[bool] = True  # the whole pipeline was timed, to compare with

    def is_worth(self, bench: PipelineBench) -> bool:
        """Whether the cost of the stages makes it worth trying."""
        raise NotImplementedError

    def tried(self, bench: PipelineBench) -> Found:
        """Try it."""
        raise NotImplementedError

    def wanted(self, context: Context) -> bool:
        """Where the stages were timed, and are such that it may help."""
        bench = pipeline_bench(context)
        if bench is None or context.found(StageTimes) is None:
            return False
        return (0 in bench.ablation.times or not self.needs_whole) and self.is_worth(bench)

    def run(self, context: Context) -> Found:
        """Try it on the bench that all probes of the pipeline share."""
        bench = pipeline_bench(context)
        if bench is None:
            raise NotAvailable("there is no pipeline that can be read again")
        return self.tried(bench)
