"""Where a pipeline's output could be kept: after the last stage that is the same in every pass."""

from __future__ import annotations

from typing import TypedDict

from fitdoctor.contract.limits import MEMORY_SHARE
from fitdoctor.inside.lab.apparatus.ablation import PASS_ON
from fitdoctor.inside.lab.apparatus.memory import available_bytes
from fitdoctor.inside.lab.apparatus.pipeline_bench import NOTABLE_SHARE, PipelineBench
from fitdoctor.inside.lab.probe import NotAvailable
from fitdoctor.inside.seams.inputs import tf_edits
from fitdoctor.inside.seams.inputs.tf_stages import Stage

# Preprocessing must take this share, for its result to be worth keeping rather than its data.
PREPROCESSING_SHARE = 0.12
# Or, where reads wait, this share of the CPU's work: reads can wait at the same time, work remains.
OF_WORK_SHARE = 0.2
# Stages that only hand elements on: keeping their output keeps no work.
HANDS_ON = frozenset({*PASS_ON, "batch", "shard", "zip"})


class KeptFields(TypedDict):
    """The fields of `KeptOutput` that describe the stage."""

    stage: int
    work: int | None
    elements: int | None
    per_batch: float
    keeps_order: bool
    python: bool


class CachePoint:
    """The stage of one pipeline whose output is worth keeping."""

    def __init__(self, bench: PipelineBench) -> None:
        self._bench = bench

    def stage(self, *, of_python: bool = False) -> Stage | None:
        """The last stage whose output is the same in every pass, if it is worth keeping.

        Args:
            of_python: count what Python does as well.
        """
        found: Stage | None = None
        work = 0.0
        for stage in reversed(self._main_chain()):
            if stage.random or stage.op in ("repeat", "cache", "from_generator"):
                break
            # A shuffle of what is still cheap (names of files) may come before the cache: the order
            # of the first pass is kept then. One of finished elements stays after it.
            if stage.op == "shuffle" and work >= PREPROCESSING_SHARE * self._bench.batch_ns:
                break
            # Reading, batching and shuffling are no preprocessing, and Python is another cause.
            is_work = stage.inputs and stage.op not in (*HANDS_ON, "shuffle")
            if is_work and (of_python or not stage.python):
                work += self._bench.own_ns(stage)
            # Single elements can still be shuffled after the cache.
            if stage.op not in ("prefetch", "with_options", *tf_edits.BATCHING):
                found = stage
        if found is None or not self.is_worth_keeping(work):
            return None
        works = any(s.op not in HANDS_ON and s.inputs for s in self._bench.up_to(found))
        return found if works else None

    def is_worth_keeping(self, work_ns: float) -> bool:
        """Whether work of this length per batch is worth saving."""
        batch_ns = self._bench.batch_ns
        if work_ns >= PREPROCESSING_SHARE * batch_ns:
            return True
        is_notable = work_ns >= NOTABLE_SHARE * batch_ns
        cpu_ns = batch_ns * self._bench.cores
        return self._bench.reads_wait() and is_notable and work_ns >= OF_WORK_SHARE * cpu_ns

    def outgrows_memory(self) -> bool:
        """Whether a cache would take more of the memory than it may."""
        stage, free = self.stage(), available_bytes()
        timing = self._bench.ablation.times.get(stage.number) if stage is not None else None
        if stage is None or timing is None or timing.element_bytes is None or free is None:
            return False
        count = int(stage.dataset.cardinality().numpy())
        return count * timing.element_bytes > MEMORY_SHARE * free

    def kept(self, *, in_batches: bool = False) -> tuple[Stage, float]:
        """The stage whose output is to be kept, and how many of its elements make a batch.

        Args:
            in_batches: keep whole batches, where nothing but batching follows.

        Raises:
            NotAvailable: there is none, or two passes differ.
        """
        work = self._kept_stage()
        if work is None:
            raise NotAvailable("no stage is worth caching")
        # What comes in another order each time is kept one by one, to be shuffled after the cache.
        batches = in_batches and self._keeps_order(work)
        stage = _with_its_batches(self._main_chain(), work) if batches else work
        if self._runs_python(stage) and not self._bench.repeats(stage):
            raise NotAvailable("two passes over the data differ, so it must not be cached")
        per_batch = self._bench.ablation.per_batch.get(stage.number)
        if per_batch is None or stage.number not in self._bench.ablation.times:
            raise NotAvailable("the stage to cache after was not timed")
        return stage, per_batch

    def fields(self, stage: Stage, per_batch: float) -> KeptFields:
        """What a rule has to know about keeping a stage's output."""
        known = int(stage.dataset.cardinality().numpy())
        work = self._kept_stage()
        return KeptFields(
            stage=stage.number,
            work=work.number if work is not None else None,
            elements=known if known > 0 else None,
            per_batch=per_batch,
            keeps_order=self._keeps_order(stage),
            python=self._runs_python(stage),
        )

    def _main_chain(self) -> list[Stage]:
        return self._bench.up_to(self._bench.stages[0])

    def _kept_stage(self) -> Stage | None:
        return self.stage() or self.stage(of_python=True)

    def _keeps_order(self, stage: Stage) -> bool:
        return not any(s.reorders or s.op == "shuffle" for s in self._bench.up_to(stage))

    def _runs_python(self, stage: Stage) -> bool:
        return any(s.python for s in self._bench.up_to(stage))


def _with_its_batches(chain: list[Stage], found: Stage) -> Stage:
    """The batches of a stage's output, where nothing but batching follows it: fewer, larger ones.

    `chain` begins with the last stage of the pipeline.
    """
    for stage in reversed(chain[: chain.index(found)]):
        if stage.op in tf_edits.BATCHING:
            return stage
        if stage.op not in ("prefetch", "with_options"):
            break
    return found
