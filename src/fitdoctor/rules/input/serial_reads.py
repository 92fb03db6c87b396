"""# serial-reads (IN002)

## What it finds
Training waits for a loader that itself mostly waits: for a disk, a network, a service.

## Why it is slow
During a read nothing is computed. Delays of serial reads add up. Reads in parallel share them.

## Evidence
- a real step takes longer than a step on one batch held in memory (gain of ${WORTH_GAIN:gain} or
  more), and the loader alone explains at least ${EXPLAINED_SHARE:percent} of the difference;
- while the loader runs alone, fewer than ${BUSY_CORES} cores are busy: it waits, it does not work;
- a trial with more reads in flight helped: ${TF_DATA_READS} or more in a tf.data pipeline, a
  growing number of threads elsewhere. If nothing can be tried: ${MOST_THREADS} at most, or
  ${PROCESSES_PER_CORE} processes per core.

## Predicted gain
The same data read with that many calls at a time, timed on this machine, overlapped with the step.
If that cannot be tried (a generator): a batch divided by the reads in flight after the cure, but
never below its CPU part spread over the cores. This assumes that the storage serves that many
readers at the same speed.

## Example
```python
dataset.map(read_remote).batch(32)
RemoteRows(workers=1)                     # a PyDataset
```

## Use instead
```python
options = tf.data.Options()
options.threading.private_threadpool_size = 16
dataset.map(read_remote, num_parallel_calls=16).batch(32).with_options(options)
RemoteRows(workers=4)
```
`num_parallel_calls` alone is capped at the number of cores by tf.data's thread pool.

## Fix safety
Same samples in the same order: tf.data is deterministic by default, and a PyDataset keeps its order
on TensorFlow. Otherwise unsafe. A `__getitem__` with random numbers draws them in the order of the
threads. On JAX and torch, Keras 3.15 takes the batch that it peeks at from the workers' queue, so
every epoch starts one batch later. A `DataLoader` with persistent workers draws another order. A
reader that is not thread-safe must not be called from several threads.

## When not to
- The CPU is busy while loading: IN001 (Python) or real work.
- Only the first epoch is slow: the files were not in the page cache yet.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import ThreadsForWaits
from fitdoctor.contract.evidence.pipeline import MoreReads
from fitdoctor.contract.limits import MOST_THREADS, TF_DATA_READS
from fitdoctor.findings.edits import Edit
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import loading
from fitdoctor.rules.rule import Rule, with_cure
from fitdoctor.rules.support import slow_loader
from fitdoctor.rules.support.places import parallel_calls, pool_size
from fitdoctor.rules.support.read_ahead import ahead
from fitdoctor.rules.support.reads import (
    PARALLEL_STAGES,
    is_pool_capped,
    read_place,
    saved_in_flight,
)
from fitdoctor.rules.support.workers import with_processes, with_threads
from fitdoctor.units import duration

# What reading ahead must gain to be offered beside the advice: one more thread.
WORTH_AHEAD = 1.15
PROCESSES_PER_CORE = 2
# A map below this share of the waiting is left as it is.
NOTABLE_SHARE = 0.1


class SerialReads(Rule):
    summary = "reads wait for disk or network one after another, and training waits for them"
    safety = "safe"
    numbers_from = (loading, slow_loader)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """Slow input while the CPU is idle, and room for more reads at a time."""
        loader = view.loader
        if loader is None or not loading.input_is_slow(view) or not slow_loader.only_waits(loader):
            return None
        now, after = _reads_in_flight(view, loader)
        if after <= now or is_pool_capped(view):
            return None
        if loading.is_taken_in_turns(view) or slow_loader.is_scattered_hdf5(view):
            return None
        found = self.finding(
            view,
            f"one batch takes {duration(loader.ns.value)} to read, nearly all of it waiting "
            f"({loader.busy_cores:.1f} cores busy), {now:.0f} at a time; "
            f"the step itself takes {duration(view.ceiling_step.value)}",
            _cure(view, f"{after:.0f}"),
            saves={"input_wait": saved_in_flight(view, loader, after / now)},
            where=read_place(view),
            evidence={
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(view.ceiling_step.value),
                "busy_cores": round(loader.busy_cores, 2),
                "reads_in_flight": now,
                "reads_in_flight_after": after,
                "measured_in_place": loader.in_place,
            },
        )
        return replace(found, partly=_read_ahead(view, loader, found))


def _read_ahead(view: View, loader: Loader, found: Finding) -> Finding | None:
    """One read at a time, but beside the step: what an edit can do for a generator."""
    if view.input.kind != "generator" or loading.loads_beside(view):
        return None
    cure = ahead(view, "a thread that reads ahead: fitdoctor.read_ahead(...)")
    saved = loading.saved_by(view, loader.ns, overlapped=True, first_batches=False)
    part = with_cure(view, found, cure, saved)
    return part if cure.edits and part.gain.value >= WORTH_AHEAD else None


def _reads_in_flight(view: View, loader: Loader) -> tuple[float, float]:
    """How many reads run at a time now, and how many the cure would run."""
    if view.input.kind == "tf.data":
        return 1.0, float(_tf_reads(view))
    tried = view.found(ThreadsForWaits)
    wanted = math.ceil(loader.ns.value / view.ceiling_step.value) + 1
    # Processes, unlike threads, each need memory and a start.
    cap = PROCESSES_PER_CORE * view.cpus if view.input.kind == "DataLoader" else MOST_THREADS
    most = tried.workers if tried is not None else max(2, min(wanted, cap))
    return float(max(1, view.input.workers or 1)), float(most)


def _tf_reads(view: View) -> int:
    """As many as were tried."""
    trial = view.found(MoreReads)
    return trial.reads if trial is not None else TF_DATA_READS


def _slow_maps(view: View) -> list[StageCost]:
    """The maps that take part in the waiting; none where an interleave does the reading.

    Its order changes with its cycle_length, so that no edit changes it.
    """
    if any(stage.op == "interleave" for stage in view.stages):
        return []
    maps = [stage for stage in view.stages if stage.op == "map"]
    most = max((stage.own_ns or 0.0 for stage in maps), default=0.0)
    return [one for one in maps if one.own_ns is None or one.own_ns >= NOTABLE_SHARE * most]


def _many_reads(maps: list[StageCost], reads: int) -> tuple[Edit, ...]:
    serial = [stage for stage in maps if stage.parallel in (None, 1)]
    calls = parallel_calls(serial, str(reads))
    pool = pool_size(maps[0], reads) if maps else ()
    return (*calls, *pool) if calls and pool else ()


def _cure(view: View, workers: str) -> Cure:
    kind = view.input.kind
    if kind == "tf.data":
        return _in_pipeline(view)
    if kind == "PyDataset":
        text = f"give the PyDataset workers={workers} (threads); more if storage allows"
        return with_threads(view, text, workers)
    if kind == "DataLoader":
        return with_processes(view, workers)
    if view.recorded.kind == "loop":
        return Cure(
            "advice",
            f"read {workers} at a time: a tf.data map with num_parallel_calls={workers}, or a "
            f"DataLoader(num_workers={workers})",
        )
    return Cure("advice", f"read from a keras.utils.PyDataset with workers={workers} instead")


def _in_pipeline(view: View) -> Cure:
    if not any(stage.op in PARALLEL_STAGES for stage in view.stages):
        return Cure(
            "advice",
            "a generator reads one batch at a time: make it a function of an index and map it "
            "with num_parallel_calls, or use a keras.utils.PyDataset with workers",
        )
    maps, reads = _slow_maps(view), _tf_reads(view)
    return Cure(
        # Random numbers fall on other samples when calls overlap.
        "unsafe" if any(stage.random for stage in maps) else "safe",
        f"num_parallel_calls={reads} on the map, and "
        f"options.threading.private_threadpool_size={reads}: without the second, "
        f"tf.data runs only {view.cpus} at a time",
        _many_reads(maps, reads),
    )


RULE = SerialReads()
