"""The experiments on slow input: stage by stage for tf.data, by workers for a PyDataset."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab.apparatus.ablation import Ablation
from fitdoctor.inside.lab.apparatus.dataset_timing import Iterators
from fitdoctor.inside.lab.experiment import Data
from fitdoctor.inside.lab.pipeline_trials import PipelineTrials
from fitdoctor.inside.lab.probes import scattered_reads, worker_trials
from fitdoctor.inside.lab.probes.validation_start import validation_start
from fitdoctor.inside.seams.inputs.generators import generator_alone, one_shot_source
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads

Run = Callable[[str, Callable[[], Data]], Data | None]
# Fewer busy cores than this while loading alone: the loader waits.
IDLE_CORES = 0.6
# Record files with fewer records than this are mostly opened, not read.
FEW_RECORDS = 20


def probe_pipeline(probe: Run, dataset: Any) -> None:
    """Prefix ablation of a tf.data pipeline, then the cures that it makes worth a trial."""
    if one_shot_source(dataset):
        return
    iterators = Iterators()
    try:
        ablation = Ablation(dataset, iterators)
        if probe("stages", ablation.run) is None:
            return
        for name, trial in PipelineTrials(dataset, ablation, iterators).wanted():
            probe(name, trial)
        _probe_sources(probe, ablation, iterators)
    finally:
        iterators.close()


def _probe_sources(probe: Run, ablation: Ablation, iterators: Iterators) -> None:
    for stage in ablation.stages:
        timing = ablation.times.get(stage.number)
        if timing is None:
            continue
        if stage.op == "from_generator":
            probe("generator_alone", functools.partial(generator_alone, stage.dataset))
        elif stage.op.startswith("TFRecordDataset"):
            probe(
                "record_files",
                functools.partial(scattered_reads.record_files, stage, timing.ns, iterators),
            )


def probe_workers(probe: Run, adapter: Any, loader: Data | None, backend: str) -> None:
    """A PyDataset: one batch in this thread, its payload, and threads where they may help."""
    dataset = adapter.py_dataset
    probe("adapter_floor", lambda: worker_trials.adapter_floor(adapter, backend))
    made = probe("in_process", lambda: worker_trials.in_process(dataset))
    busy = loader["own_cores"] + loader["children_cores"] if loader else 1.0
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = min(worker_trials.MOST_THREADS, worker_trials.THREADS_PER_CORE * cpus)
    if busy < IDLE_CORES and dataset.workers < wanted:
        probe("trial_threads", lambda: worker_trials.threads(adapter, wanted))
    else:
        probe("same_batches", lambda: worker_trials.same_batches(dataset))
        _probe_busy_threads(probe, adapter, made, cpus)


def _probe_busy_threads(probe: Run, adapter: Any, made: Data | None, cpus: int) -> None:
    if adapter.py_dataset.workers < cpus and made is not None and worker_trials.is_native(made):
        # Whether native calls let go of Python's lock, and for how long, only a trial tells.
        probe("trial_busy_threads", lambda: worker_trials.threads(adapter, cpus))


def probe_hdf5(probe: Run, reads: Hdf5Reads, steps: int) -> None:
    """HDF5 files that were read during training."""
    if reads.by_dataset:
        probe("hdf5_reads", lambda: scattered_reads.hdf5_reads(reads, steps))


def probe_validation(probe: Run, validation: Any) -> None:
    """A tf.data validation set that is split off after its maps."""
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(validation, tensorflow.data.Dataset):
        return
    if one_shot_source(validation):
        return
    iterators = Iterators()
    try:
        probe("validation_start", lambda: validation_start(validation, iterators))
    finally:
        iterators.close()
