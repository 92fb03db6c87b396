"""A tf.data or grain pipeline: its stages, and the pipeline with one thing changed."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.codec import Positive, Signed
from fitdoctor.contract.evidence.timing import Timed
from fitdoctor.contract.places import CodeLine
from fitdoctor.contract.results import result


@dataclass(frozen=True)
class StageTime:
    """One stage, per batch of the whole pipeline."""

    n: int
    per_batch: float  # elements of this stage in one batch
    ns: int  # the pipeline up to here
    cpu_ns: int
    own_ns: int  # this stage by itself
    own_cpu_ns: int
    first_ns: int | None = None
    element_bytes: int | None = None


@result("stages")
@dataclass(frozen=True)
class StageTimes:
    """The stages that could be timed."""

    rows: tuple[StageTime, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ChangedPipeline(Timed):
    """The pipeline with one thing changed, beside the pipeline as written."""

    as_written: tuple[Positive, ...]
    as_written_first_ns: int = 0
    first_ns: int = 0
    stage: int | None = None


@result("trial_reads")
@dataclass(frozen=True, kw_only=True)
class MoreReads(ChangedPipeline):
    """More reads side by side, in a thread pool of their own."""

    reads: int


@dataclass(frozen=True, kw_only=True)
class KeptOutput(ChangedPipeline):
    """A stage's output kept instead of made again."""

    work: int | None = None  # the last stage whose work is saved
    elements: int | None = None
    per_batch: float
    keeps_order: bool = False
    python: bool = False
    element_bytes: float | None = None


@result("trial_cache")
@dataclass(frozen=True, kw_only=True)
class Cached(KeptOutput):
    """Kept in memory."""

    available_bytes: int | None = None


@result("trial_cache_python")
@dataclass(frozen=True, kw_only=True)
class CachedPython(KeptOutput):
    """Kept in memory, where Python makes it."""

    available_bytes: int | None = None


@result("trial_packed")
@dataclass(frozen=True, kw_only=True)
class Packed(KeptOutput):
    """Kept on disk."""

    write_ns: float
    disk_ns: float
    disk_free_bytes: int


@result("trial_batch_first")
@dataclass(frozen=True, kw_only=True)
class BatchFirst(ChangedPipeline):
    """Maps after the batch."""

    same: bool = False
    close: bool = False


@result("trial_parallel_map")
@dataclass(frozen=True, kw_only=True)
class ParallelMap(ChangedPipeline):
    """Maps with a state run in parallel."""


@result("trial_chunks")
@dataclass(frozen=True, kw_only=True)
class InChunks(ChangedPipeline):
    """Rows of a generator handed over in chunks."""

    repeats: bool = False


@result("trial_arrays")
@dataclass(frozen=True, kw_only=True)
class AsArrays(ChangedPipeline):
    """Rows of arrays picked as Keras picks them."""

    source: int


@dataclass(frozen=True)
class OnePass:
    """One pass from its beginning: the first batch, and as many more as time allowed."""

    first_ns: int
    ns: int
    batches: int
    whole: bool = True


@result("trial_early_shuffle")
@dataclass(frozen=True)
class EarlyShuffle:
    """The shuffle before the maps."""

    stage: int
    changed: OnePass
    as_written: OnePass


@result("trial_early_skip")
@dataclass(frozen=True)
class EarlySkip:
    """The skip before the maps."""

    stage: int
    changed: OnePass
    as_written: OnePass
    skipped: Signed | None = None
    random: bool = False
    maps: tuple[CodeLine | None, ...] = ()


@result("validation_start")
@dataclass(frozen=True)
class ValidationStart:
    """The first validation batch, as written and with the skip before the maps."""

    first_ns: int
    early_first_ns: int
    pass_ns: int
    early_pass_ns: int
    skipped: Signed | None = None
    file: str | None = None
    line: int | None = None
    maps: tuple[CodeLine | None, ...] = ()
