"""Cures of a tf.data pipeline, tried: the user's own pipeline with one thing changed, timed.

Which ones are worth trying follows from the cost of the stages; what each gains is measured,
never assumed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from fitdoctor.contract.stored_tensors import from_records, not_storable
from fitdoctor.inside.lab.apparatus.ablation import PASS_ON, Ablation
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators, time_dataset
from fitdoctor.inside.lab.apparatus.memory import MEMORY_SHARE, available_bytes
from fitdoctor.inside.lab.apparatus.stored_part import stored
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.seams.backends.base import NotAvailable
from fitdoctor.inside.seams.backends.randomness import global_state
from fitdoctor.inside.seams.inputs import keras_arrays, tf_edits
from fitdoctor.inside.seams.inputs.tf_pipeline import substituted
from fitdoctor.inside.seams.inputs.tf_stages import Stage

READS = 16
MOST_READS = 64
IDLE_CORES = 0.6  # fewer busy cores than this: the pipeline waits rather than works
# A stage must take this share of a batch for its cure to be worth a trial.
NOTABLE_SHARE = 0.08
# And preprocessing this share, for its result to be worth keeping rather than its data.
PREPROCESSING_SHARE = 0.12
# Or, where reads wait, this share of the CPU's work: waiting can be had side by side, work remains.
OF_WORK_SHARE = 0.2
# Longer work per element than this is not overhead: batching it first gains nothing.
SHORT_ELEMENT_NS = 300_000
MOST_CACHED = 2**30  # bytes, in a trial
FILL_S = 1.5  # a cache is filled for no longer than this in a trial
NOTABLE_FILL_NS = 50_000_000
# Stages that only hand elements on: keeping their output keeps no work.
HANDS_ON = frozenset({*PASS_ON, "batch", "shard", "zip"})
# Elements of a batch that come one by one from Python.
MANY_ELEMENTS = 4
# Elements of two passes that are compared: the least, and as many as this time allows, at most.
COMPARED, COMPARED_NS, MOST_COMPARED = 4, 1_000_000_000, 64

Trial = tuple[str, Callable[[], Data]]


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


class PipelineTrials:
    """The trials that the ablation makes worth making."""

    def __init__(self, dataset: Any, ablation: Ablation, iterators: Iterators) -> None:
        """`ablation` has run."""
        self._dataset = dataset
        self._ablation = ablation
        self._iterators = iterators
        self._stages = ablation.stages

    def wanted(self) -> list[Trial]:
        """Names and experiments, the likeliest cure first."""
        if 0 not in self._ablation.times:
            return []
        found: list[Trial] = []
        if self._reads_wait():
            found.append(("trial_reads", self._reads))
        if self._cache_stage() is not None:
            found.append(("trial_cache", self._cache))
            if self._outgrows_memory():
                found.append(("trial_packed", self._packed))
        elif self._cache_stage(of_python=True) is not None:
            found.append(("trial_cache_python", self._cache))
        if self._has_short_maps():
            found.append(("trial_batch_first", self._batch_first))
        if self._has_serial_random_map():
            found.append(("trial_parallel_map", self._parallel_map))
        if self._has_late_shuffle():
            found.append(("trial_early_shuffle", self._early_shuffle))
        if self._has_late_skip():
            found.append(("trial_early_skip", self._early_skip))
        if self._generator() is not None:
            found.append(("trial_chunks", self._chunks))
        if self._is_per_row():
            found.append(("trial_arrays", self._arrays))
        return found

    # -- what is worth trying ------------------------------------------------------

    def _cores(self) -> float:
        return self._ablation.times[0].cores

    def _batch_ns(self) -> float:
        return self._ablation.times[0].ns

    def _own_ns(self, stage: Stage) -> float:
        """Wall or CPU time of a stage by itself, whichever is more, per batch."""
        if stage.number not in self._ablation.times:
            return 0.0
        row = self._ablation.row(stage)
        return float(max(row["own_ns"], row["own_cpu_ns"]))

    def _is_notable(self, stage: Stage) -> bool:
        return self._own_ns(stage) >= NOTABLE_SHARE * self._batch_ns()

    def _reads_wait(self) -> bool:
        has_parallel_stage = any(s.op in tf_edits.PARALLEL for s in self._stages)
        return self._cores() < IDLE_CORES and has_parallel_stage

    def _has_serial_random_map(self) -> bool:
        """Maps that TensorFlow does not run in parallel by itself: those with a state."""
        return any(
            s.op == "map" and s.parallel is None and s.random and self._is_notable(s)
            for s in self._stages
        )

    def _has_short_maps(self) -> bool:
        batch = next((s for s in reversed(self._stages) if s.op in tf_edits.BATCHING), None)
        if batch is None or batch.settings.get("batch_size", 1) < 4:
            return False
        maps = [s for s in tf_edits.chain_above(self._stages, batch.number) if s.op == "map"]
        if not maps or batch.number not in self._ablation.times:
            return False
        # Maps and their batch run fused: what counts is the whole up to the batch.
        whole = self._ablation.row(batch)
        per_element = max(whole["ns"], whole["cpu_ns"]) / (
            whole["per_batch"] * batch.settings["batch_size"]
        )
        return bool(per_element < SHORT_ELEMENT_NS)

    def _has_late_shuffle(self) -> bool:
        for stage in self._stages:
            if stage.op != "shuffle" or stage.inputs[0] not in self._ablation.times:
                continue
            fill = stage.settings.get("buffer_size", 0) * self._ablation.times[stage.inputs[0]].ns
            return fill >= NOTABLE_FILL_NS
        return False

    def _has_late_skip(self) -> bool:
        """A skip of elements that a map has made, which takes notable time."""
        for stage in self._stages:
            if stage.op != "skip" or not tf_edits.maps_above(self._stages, stage):
                continue
            made = self._ablation.times.get(stage.inputs[0])
            skipped = stage.settings.get("count", 0)
            return made is not None and skipped * made.ns >= NOTABLE_FILL_NS
        return False

    def _generator(self) -> Stage | None:
        """A Python generator that gives several elements of every batch, and takes its time."""
        source = self._stages[-1]
        per_batch = self._ablation.per_batch.get(source.number) or 0.0
        is_worth = source.op == "from_generator" and per_batch >= MANY_ELEMENTS
        return source if is_worth and self._is_notable(source) else None

    def _is_per_row(self) -> bool:
        """Rows of arrays in memory, batched one by one, with nothing done to them."""
        ops = [s.op for s in self._stages if s.op not in ("prefetch", "repeat", "with_options")]
        return ops[-1] == "from_tensor_slices" and sorted(ops[:-1]) in (
            ["batch"],
            ["batch", "shuffle"],
        )

    def _kept_stage(self) -> Stage | None:
        return self._cache_stage() or self._cache_stage(of_python=True)

    def _cache_stage(self, *, of_python: bool = False) -> Stage | None:
        """The last stage whose output is the same in every pass, if it is worth keeping.

        Args:
            of_python: count what Python does as well.
        """
        chain = self._main_chain()
        found: Stage | None = None
        work = 0.0
        for stage in reversed(chain):
            if stage.random or stage.op in ("repeat", "cache", "from_generator"):
                break
            # A shuffle of what is still cheap (names of files) may lie before the cache: the order
            # of the first pass is kept then. One of finished elements stays behind it.
            if stage.op == "shuffle" and work >= PREPROCESSING_SHARE * self._batch_ns():
                break
            # Reading, batching and shuffling are no preprocessing, and Python is another cause.
            is_work = stage.inputs and stage.op not in (*HANDS_ON, "shuffle")
            if is_work and (of_python or not stage.python):
                work += self._own_ns(stage)
            # Single elements can still be shuffled behind the cache.
            if stage.op not in ("prefetch", "with_options", *tf_edits.BATCHING):
                found = stage
        if found is None or not self._is_worth_keeping(work):
            return None
        works = any(s.op not in HANDS_ON and s.inputs for s in self._above(found))
        return found if works else None

    def _is_worth_keeping(self, work: float) -> bool:
        if work >= PREPROCESSING_SHARE * self._batch_ns():
            return True
        cpu = self._batch_ns() * self._cores()
        is_notable = work >= NOTABLE_SHARE * self._batch_ns()
        return self._reads_wait() and is_notable and work >= OF_WORK_SHARE * cpu

    def _outgrows_memory(self) -> bool:
        """Whether a cache would take more of the memory than it may."""
        stage, free = self._cache_stage(), available_bytes()
        timing = self._ablation.times.get(stage.number) if stage is not None else None
        if stage is None or timing is None or timing.element_bytes is None or free is None:
            return False
        count = int(stage.dataset.cardinality().numpy())
        return count * timing.element_bytes > MEMORY_SHARE * free

    def _main_chain(self) -> list[Stage]:
        return [self._stages[0], *tf_edits.chain_above(self._stages, 0)]

    # -- the trials ----------------------------------------------------------------

    def _timed(self, dataset: Any, *, skip_s: float = 0.0, skip: int = 0, **facts: Any) -> Data:
        timing = time_dataset(
            dataset.with_options(self._dataset.options()),
            self._iterators,
            skip_s=skip_s,
            skip=skip,
        )
        return {
            **timing.windows.to_record(),
            "first_ns": timing.first_ns,
            **self._as_written(),
            **facts,
        }

    def _as_written(self) -> Data:
        """The pipeline before the change, timed alike."""
        timing = self._ablation.times[0]
        return {
            "as_written": [round(ns) for ns in timing.windows.ns],
            "as_written_first_ns": timing.first_ns,
        }

    def _reads(self) -> Data:
        asked = max((s.parallel or 0 for s in self._stages), default=0)
        reads = min(MOST_READS, max(READS, asked))
        dataset = tf_edits.with_reads(self._dataset, self._stages, reads)
        timing = time_dataset(dataset, self._iterators)
        return {
            **timing.windows.to_record(),
            "first_ns": timing.first_ns,
            **self._as_written(),
            "reads": reads,
        }

    def _kept(self, *, in_batches: bool = False) -> tuple[Stage, float]:
        """The stage whose output is to be kept, and how many of its elements make a batch."""
        work = self._kept_stage()
        if work is None:
            raise NotAvailable("no stage is worth caching")
        # What comes in another order each time is kept one by one, to be shuffled behind the cache.
        in_order = not any(s.reorders or s.op == "shuffle" for s in self._above(work))
        batches = in_batches and in_order
        stage = _with_its_batches(self._main_chain(), work) if batches else work
        if any(s.python for s in self._above(stage)) and not self._repeats(stage):
            raise NotAvailable("two passes over the data differ, so it must not be cached")
        per_batch = self._ablation.per_batch.get(stage.number)
        if per_batch is None or stage.number not in self._ablation.times:
            raise NotAvailable("the stage to cache after was not timed")
        return stage, per_batch

    def _facts_of(self, stage: Stage, per_batch: float) -> Data:
        """What a rule has to know about keeping a stage's output."""
        known = int(stage.dataset.cardinality().numpy())
        return {
            "stage": stage.number,
            "work": work.number if (work := self._kept_stage()) is not None else None,
            "elements": known if known > 0 else None,
            "per_batch": per_batch,
            "keeps_order": not any(s.reorders or s.op == "shuffle" for s in self._above(stage)),
            "python": any(s.python for s in self._above(stage)),
        }

    def _cache(self) -> Data:
        stage, per_batch = self._kept(in_batches=True)
        element_ns = self._ablation.times[stage.number].ns
        elements = max(1, int(2 * per_batch), int(FILL_S * 1e9 / max(1.0, element_ns)))
        known = int(stage.dataset.cardinality().numpy())
        size = self._ablation.times[stage.number].element_bytes
        free = available_bytes()
        most = MOST_CACHED if free is None else min(MOST_CACHED, int(MEMORY_SHARE * free))
        if size is not None and size * min(elements, known if known > 0 else elements) > most:
            elements = max(1, most // size)
        dataset = tf_edits.cached_at(self._dataset, stage, elements)
        kept = min(elements, known if known > 0 else elements)
        return self._timed(
            dataset,
            skip_s=1.3 * kept * element_ns / 1e9,
            # All of them are in the cache when they have come out at the end.
            skip=math.ceil(kept / per_batch),
            **self._facts_of(stage, per_batch),
            first_ns=0,  # of a full cache; here the first batch was still being made
            element_bytes=size,
            available_bytes=free,
        )

    def _packed(self) -> Data:
        """The stage's output read from a file, as `fitdoctor.packed` stores it."""
        stage, per_batch = self._kept()
        tf, spec = sys.modules["tensorflow"], stage.dataset.element_spec
        reason = not_storable(tf, spec)
        if reason:
            raise NotAvailable(reason)
        with stored(stage.dataset, at_least=math.ceil(2 * per_batch)) as part:
            read = from_records(tf, tf.data.TFRecordDataset(part.path), spec).repeat()
            return self._timed(
                substituted(self._dataset, stage.dataset, read),
                **self._facts_of(stage, per_batch),
                element_bytes=part.count_bytes / part.elements,
                write_ns=part.write_ns / part.elements,
                disk_ns=per_batch * part.cold_ns / part.elements,
                disk_free_bytes=part.disk_free_bytes,
            )

    def _above(self, stage: Stage) -> list[Stage]:
        return [stage, *tf_edits.chain_above(self._stages, stage.number)]

    def _repeats(self, stage: Stage) -> bool:
        """Whether two passes give the same elements, where Python makes them.

        What draws from Python's or NumPy's own generators does not, even if it happens to.
        """
        timing = self._ablation.times.get(stage.number)
        in_time = 0 if timing is None else int(COMPARED_NS / 2 / max(1.0, timing.ns))
        few = stage.dataset.take(max(COMPARED, min(MOST_COMPARED, in_time)))
        before = global_state()
        pairs = zip(few, few, strict=True)
        return all(tf_edits.is_same(one, other) for one, other in pairs) and (
            global_state() == before
        )

    def _batch_first(self) -> Data:
        dataset, batch, maps = tf_edits.maps_after_batch(self._dataset, self._stages)
        source = self._stages[maps[-1].inputs[0]].dataset
        agreed = tf_edits.batched_either_way(batch, maps, source)
        return self._timed(dataset, stage=maps[0].number, same=agreed.same, close=agreed.close)

    def _parallel_map(self) -> Data:
        stage = next(s for s in self._stages if s.op == "map" and s.parallel is None and s.random)
        return self._timed(tf_edits.with_autotune(self._dataset, self._stages), stage=stage.number)

    def _early_shuffle(self) -> Data:
        dataset, shuffle = tf_edits.shuffled_early(self._dataset, self._stages)
        return {
            "stage": shuffle.number,
            "pass": _pass_ns(dataset, self._iterators),
            "pass_as_written": _pass_ns(self._dataset, self._iterators),
        }

    def _early_skip(self) -> Data:
        dataset, skip = tf_edits.skipped_early(self._dataset, self._stages)
        maps = tf_edits.maps_above(self._stages, skip)
        return {
            "stage": skip.number,
            "skipped": skip.settings.get("count"),
            "random": any(stage.random for stage in maps),
            "maps": [stage.where() for stage in maps],
            "pass": _pass_ns(dataset, self._iterators),
            "pass_as_written": _pass_ns(self._dataset, self._iterators),
        }

    def _chunks(self) -> Data:
        source = self._stages[-1]
        dataset = tf_edits.in_chunks(self._dataset, source)
        return self._timed(dataset, stage=source.number, repeats=self._repeats(source))

    def _arrays(self) -> Data:
        source = self._stages[-1]
        batch = next(s for s in self._stages if s.op == "batch")
        shuffles = any(s.op == "shuffle" for s in self._stages)
        dataset = keras_arrays.as_arrays(source.dataset, batch.settings["batch_size"], shuffles)
        return self._timed(dataset, stage=batch.number, source=source.number)


PASS_S = 4.0


def _pass_ns(dataset: Any, iterators: Iterators) -> Data:
    """One pass from its beginning: the first batch, and as much of the rest as time allows."""
    begin = time.perf_counter()
    iterator = iterators.open(dataset)
    next(iterator)
    first = time.perf_counter() - begin
    count, ended = 1, True
    for _ in iterator:
        count += 1
        if time.perf_counter() - begin > max(PASS_S, 1.5 * first):
            ended = False
            break
    return {
        "first_ns": int(first * 1e9),
        "ns": int((time.perf_counter() - begin) * 1e9),
        "batches": count,
        "whole": ended,
    }
