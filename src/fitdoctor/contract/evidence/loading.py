"""The user's data without a model."""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.contract.codec import Signed
from fitdoctor.contract.evidence.timing import NativePart, Stacks, Timed
from fitdoctor.contract.places import CallLine
from fitdoctor.contract.results import result


@dataclass(frozen=True)
class StageFacts:
    """One stage of a pipeline as the user wrote it; 0 is the last one, which training reads."""

    n: int
    op: str
    inputs: tuple[int, ...] = ()
    file: str | None = None
    line: int | None = None
    python: bool = False  # crosses into the interpreter for every element
    random: bool = False  # may give another value for the same input
    reorders: bool = False  # gives the same elements in another order each time
    parallel: Signed | None = None  # num_parallel_calls as written; -1 is AUTOTUNE
    via: str | None = None  # the library's function that made it, where the user called that
    batch_size: Signed | None = None
    buffer_size: Signed | None = None
    count: Signed | None = None
    cycle_length: Signed | None = None
    num_shards: Signed | None = None


@result("input")
@dataclass(frozen=True)
class InputFacts:
    """What the training is fed with, and how that was configured."""

    kind: str = ""
    name: str | None = None
    file: str | None = None
    line: int | None = None
    workers: int | None = None
    use_multiprocessing: bool | None = None
    max_queue_size: int | None = None
    persistent: bool | None = None
    made: CallLine | None = None  # where the user made it
    base_init: CallLine | None = None  # where its class calls its base's __init__
    given: tuple[str, ...] | None = None
    stages: tuple[StageFacts, ...] = ()


@result("loader_alone")
@dataclass(frozen=True, kw_only=True)
class LoaderAlone(Timed):
    """Batches read with nothing else done to them."""

    first_batch_ns: int = 0
    passes: int = 0
    stacks: Stacks | None = None
    shapes: tuple[str, ...] = ()
    bytes: int | None = None


@result("source")
@dataclass(frozen=True)
class GeneratorInPlace:
    """What a generator took where it ran, since it can be read only once."""

    count: int
    wall_ns: int
    cpu_ns: int
    native: NativePart | None = None


@result("generator_alone")
@dataclass(frozen=True)
class GeneratorAlone:
    """The generator behind a from_generator, per element."""

    ns: int
    cpu_ns: int
    count: int
    file: str | None = None
    line: int | None = None


@result("in_process")
@dataclass(frozen=True, kw_only=True)
class BatchInProcess(Timed):
    """One batch of a PyDataset made in this thread, and what shipping it would take."""

    thread_cpu_ns: int = 0
    native: NativePart | None = None
    payload_bytes: int = 0
    pickle_ns: int = 0
    length: int = 1


@result("same_batches")
@dataclass(frozen=True)
class SameBatches:
    """Whether an index gives the same batch again, and what speaks against keeping batches."""

    same: bool
    compared: int
    length: int
    hooks: tuple[str, ...] = ()
    hashable: bool = True
    available_bytes: int | None = None


@result("adapter_floor")
@dataclass(frozen=True, kw_only=True)
class AdapterFloor(Timed):
    """What a batch costs that is made for nothing."""


@result("trial_threads")
@dataclass(frozen=True, kw_only=True)
class ThreadsForWaits(Timed):
    """A PyDataset read by several threads, where reading waits."""

    workers: int
    passes: int = 0


@result("trial_busy_threads")
@dataclass(frozen=True, kw_only=True)
class ThreadsForWork(Timed):
    """A PyDataset read by several threads, where native code works."""

    workers: int
    passes: int = 0


@result("hdf5_reads")
@dataclass(frozen=True)
class Hdf5ReadCost:
    """The rows of a batch as they are read from HDF5, as one block, and from memory."""

    ns: int  # per batch
    contiguous_ns: int
    rows: int
    reads_per_batch: float
    format: str = "HDF5"
    chunk_rows: int | None = None
    compression: str | None = None
    file: str | None = None
    line: int | None = None
    dataset: str | None = None
    memory_ns: int | None = None
    bytes: int | None = None
    bytes_per_row: int | None = None
    fits: bool | None = None
    opened_file: str | None = None
    opened_line: int | None = None


@result("record_files")
@dataclass(frozen=True)
class RecordFiles:
    """TFRecord files as they are, against the same records in one file."""

    files: int
    records_per_file: float
    record_ns: int
    packed_record_ns: int
    record_bytes: int | None = None
    format: str = "TFRecord"
    keeps_order: bool = False
    file: str | None = None
    line: int | None = None


@result("array_conversion")
@dataclass(frozen=True)
class ArrayConversion:
    """What Keras does to arrays at the start of each call: as they are, and cast beforehand."""

    bytes: int
    cast_bytes: int
    as_is_ns: int
    cast_before_ns: int
    dtypes: tuple[str, ...] = ()
    floatx: str = "float32"
    cast_arguments: tuple[str, ...] = ()
    per_epoch: int = 0


@result("augmentation")
@dataclass(frozen=True)
class AugmentationInLoader:
    """Random Keras layers that the loader calls."""

    batch_ns: int
    layers_ns: int
    share: float
    layers: tuple[str, ...] = ()
