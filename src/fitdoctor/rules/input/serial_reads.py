"""# serial-reads (IN002)

## What it finds
Training waits for data that is mostly waiting itself: for a disk, a network, a service.

## Why it is slow
Each read takes time in which nothing is computed. Reads that follow one another add their
delays up; reads that are under way together share them.

## Evidence
- a real step takes longer than a step on one batch held in memory (gain of 5 % or more), and
  the loader alone is slow enough to explain at least half of the difference;
- while the loader runs alone, fewer than 0.6 cores are busy: it waits, it does not work;
- fewer reads are in flight than the cure would allow.

## Predicted gain
The same data read with that many calls at a time, timed on this machine, beside the step. Where
that cannot be tried (a generator): a batch divided by the reads in flight after the cure, but
never below its CPU part spread over the cores; it assumes that the storage serves that many
readers as fast.

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
Same samples in the same order (tf.data is deterministic unless told otherwise; a PyDataset keeps
its order on TensorFlow). Unsafe where it does not: a `__getitem__` that draws random numbers draws
them in the order of the threads; on JAX and torch, Keras 3.15 takes the batch that it peeks at from
the workers' queue, and every epoch begins one batch later; a `DataLoader` whose workers stay draws
its order otherwise. A reader that is not thread-safe must not be called from several threads.

## When not to
- The CPU is busy while loading: IN001 (Python) or real work.
- Only the first epoch is slow: the files were not in the page cache yet.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import (
    input_is_slow,
    is_taken_in_turns,
    loads_beside,
    of_new_queue,
    saved_by,
    saved_by_trial,
)
from fitdoctor.rules.input.python_bound_loader import BUSY_CORES, python_place
from fitdoctor.rules.input.scattered_reads import is_scattered_hdf5
from fitdoctor.rules.support.places import loader_options, parallel_calls, pool_size
from fitdoctor.rules.support.read_ahead import ahead
from fitdoctor.rules.support.workers import threads_safety
from fitdoctor.units import duration

PAGE = __doc__ or ""

# Stages of tf.data that can run several calls at a time.
PARALLEL_STAGES = frozenset({"map", "interleave"})
# Threads of tf.data are cheap; more than this rarely helps and may overload a server.
WORTH_AHEAD = 1.15
TF_DATA_READS = 16
# Python threads share one lock and each holds a batch: two per core is a sound start.
THREADS_PER_CORE = 2
# A loader's storage may serve several readers more slowly than one.
SHARING_LOSS = 1.25
# A map below this share of the waiting is left as it is.
NOTABLE_SHARE = 0.1


class SerialReads:
    """IN002."""

    code = "IN002"
    name = "serial-reads"
    summary = "reads wait for disk or network one after another, and training waits for them"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """Slow input while the CPU is idle, and room for more reads at a time."""
        loader = view.loader
        if loader is None or not input_is_slow(view):
            return None
        busy = loader.cores + loader.children_cores
        now, after = reads_in_flight(view)
        if busy >= BUSY_CORES or after <= now or is_pool_capped(view):
            return None
        if is_taken_in_turns(view) or is_scattered_hdf5(view):
            return None
        saved = saved_in_flight(view, after / now)
        found = Finding(
            rule=self.code,
            name=self.name,
            where=read_place(view),
            message=(
                f"one batch takes {duration(loader.ns.value)} to read, nearly all of it waiting "
                f"({busy:.1f} cores busy), {now:.0f} at a time; "
                f"the step itself takes {duration(view.ceiling_step.value)}"
            ),
            gain=gain(view.costs.total, saved),
            cure=_cure(view, after),
            evidence={
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(view.ceiling_step.value),
                "busy_cores": round(busy, 2),
                "reads_in_flight": now,
                "reads_in_flight_after": after,
                "measured_in_place": loader.in_place,
            },
            saves={"input_wait": saved},
        )
        return replace(found, partly=_read_ahead(view, found))


def _read_ahead(view: View, found: Finding) -> Finding | None:
    """One read at a time, but beside the step: what an edit can do for a generator."""
    loader = view.loader
    if view.input.get("kind") != "generator" or loader is None or loads_beside(view):
        return None
    cure = ahead(view, "a thread that reads ahead: fit(fitdoctor.read_ahead(...))")
    saved = saved_by(view, loader.ns, overlapped=True, first_batches=False)
    priced = gain(view.costs.total, saved)
    if not cure.edits or priced.value < WORTH_AHEAD:
        return None
    return replace(found, gain=priced, cure=cure, saves={"input_wait": saved})


def reads_in_flight(view: View) -> tuple[float, float]:
    """How many reads run at a time now, and how many the cure would run."""
    loader = view.loader
    kind = view.input.get("kind")
    if kind == "tf.data":
        return 1.0, float(TF_DATA_READS)
    wanted = math.ceil(loader.ns.value / view.ceiling_step.value) + 1 if loader else 2
    most = max(2, min(wanted, THREADS_PER_CORE * view.cpus))
    now = max(1, int(view.input.get("workers", 1) or 1))
    return float(now), float(most)


def is_pool_capped(view: View) -> bool:
    """The stage that waits already asks for parallel calls: its thread pool is the cap (IN003)."""
    waiting = waiting_stage(view)
    return waiting is not None and waiting.parallel not in (None, 1)


def waiting_stage(view: View) -> StageCost | None:
    """The stage that takes longest, of those that can run several calls at a time."""
    stages = [stage for stage in view.stages if stage.op in PARALLEL_STAGES]
    return max(stages, key=lambda one: (one.own_ns or 0.0, one.python), default=None)


def with_reads(view: View, times: float) -> Interval:
    """Time per batch when the waiting is shared by `times` as many reads."""
    loader = view.loader
    if loader is None:
        raise ValueError("with_reads() needs a measured loader")
    # Reads in flight overlap their waiting, and their work as far as there are cores.
    work = loader.ns.scaled(min(1.0, loader.cores + loader.children_cores))
    shared = loader.ns.scaled(1.0 / times)
    likely = Interval.maximum(work.scaled(1.0 / view.cpus), shared)
    return Interval(likely.value, likely.low, (work + shared.scaled(SHARING_LOSS)).high)


def saved_in_flight(view: View, times: float) -> Interval:
    """What more reads at a time save: as tried on this data, or else as the model says."""
    trial = view.trial("trial_reads")
    if trial is not None:
        return saved_by_trial(view, trial, overlapped=True)
    # An epoch's first batch is one read, which takes as long as before.
    then = view.probe_ns("trial_threads") or with_reads(view, times)
    saved = saved_by(view, then, overlapped=True, first_batches=False)
    return saved.minus(of_new_queue(view))


def read_place(view: View) -> Where | None:
    """The stage that reads, or the user's line that waits."""
    # Of a grain dataset only the user's function is known, and the line in it that waits is nearer.
    stages = view.input.get("stages", ()) if view.input.get("kind") == "tf.data" else ()
    for stage in stages:
        if stage.get("op", "") in (*PARALLEL_STAGES, "flat_map") and (
            stage.get("file") and not any(s.get("python") for s in stages)
        ):
            return Where(str(stage["file"]), int(stage["line"]))
    return python_place(view)


def _has_map(view: View) -> bool:
    """Whether there is a stage that could run several calls at a time."""
    ops = [str(stage.get("op", "")) for stage in view.input.get("stages", ())]
    return any(op in PARALLEL_STAGES for op in ops)


def _slow_maps(view: View) -> list[StageCost]:
    """The maps that take part in the waiting; none where an interleave does the reading.

    Its order changes with its cycle_length, so that it is not changed by rule.
    """
    if any(stage.op == "interleave" for stage in view.stages):
        return []
    maps = [stage for stage in view.stages if stage.op == "map"]
    most = max((stage.own_ns or 0.0 for stage in maps), default=0.0)
    return [one for one in maps if one.own_ns is None or one.own_ns >= NOTABLE_SHARE * most]


def _many_reads(view: View) -> tuple[Edit, ...]:
    maps = _slow_maps(view)
    serial = [stage for stage in maps if stage.parallel in (None, 1)]
    calls = parallel_calls(serial, str(TF_DATA_READS))
    pool = pool_size(maps[0], TF_DATA_READS) if maps else ()
    return (*calls, *pool) if calls and pool else ()


def _cure(view: View, reads: float) -> Cure:
    kind = view.input.get("kind")
    if kind == "tf.data" and not _has_map(view):
        return Cure(
            "advice",
            "a generator reads one batch at a time: make it a function of an index and map it "
            "with num_parallel_calls, or use a keras.utils.PyDataset with workers",
        )
    if kind == "tf.data":
        # Random numbers fall on other samples when calls overlap.
        draws = any(stage.random for stage in _slow_maps(view))
        return Cure(
            "unsafe" if draws else "safe",
            f"num_parallel_calls={TF_DATA_READS} on the map, and "
            f"options.threading.private_threadpool_size={TF_DATA_READS}: without the second, "
            f"tf.data runs only {view.cpus} at a time",
            _many_reads(view),
        )
    workers = f"{reads:.0f}"
    if kind == "PyDataset":
        safety, changes = threads_safety(view)
        text = f"give the PyDataset workers={workers} (threads); more if storage allows"
        return Cure(
            safety,
            f"{text}; {changes}" if changes else text,
            loader_options(view, workers=workers),
        )
    if kind == "DataLoader":
        # Workers that stay draw their random numbers, and the sampler its order, otherwise.
        return Cure(
            "unsafe",
            f"DataLoader(num_workers={workers}, persistent_workers=True)",
            loader_options(view, num_workers=workers, persistent_workers="True"),
        )
    if view.recorded.kind == "loop":
        return Cure(
            "advice",
            f"read {workers} at a time: a tf.data map with num_parallel_calls={workers}, or a "
            f"DataLoader(num_workers={workers})",
        )
    return Cure("advice", f"read from a keras.utils.PyDataset with workers={workers} instead")


RULE = SerialReads()
