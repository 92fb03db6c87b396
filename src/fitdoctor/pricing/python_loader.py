"""What is left of batches that Python makes: as array code, in threads, or in processes."""

from __future__ import annotations

from typing import Literal

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import AdapterFloor, ThreadsForWork
from fitdoctor.intervals import Interval
from fitdoctor.pricing.loading import holds_lock, queue_shutdown_cost, saved_by

# How much faster array code runs than the same work in a Python loop (usual, least, most): six
# bodies of loaders gave 20 to 1490, 65 in the middle; see benchmarks/vectorising.py.
VECTORISED = Interval(80.0, 20.0, 1500.0)
# The same for a generator that draws no random numbers: its work can be done once for all epochs.
ONCE = Interval(300.0, 20.0, 1000.0)
# What TensorFlow needs for one element whose function is some small ops: 19 to 33 µs were measured
# for 4 to 60 of them. What the ops compute comes on top and is not known (usual, least, most).
ELEMENT_BY_OPS_NS = Interval(30_000.0, 20_000.0, 300_000.0)
# Native calls take at least this share of the work: rewriting the loop around them gains little.
MOSTLY_NATIVE = 0.5
# Threads that were tried are the cure if they give this part of what cores of their own would.
MOST_OF_IT = 0.5

Way = Literal["arrays", "threads", "processes"]


def lock_is_free(loader: Loader) -> bool:
    """Native calls that release Python's lock: then threads help, too."""
    if loader.native_share is None or loader.native_share < MOSTLY_NATIVE:
        return False
    return loader.lock_share is not None and not holds_lock(loader)


def best_way(view: View, loader: Loader) -> tuple[Interval, Way]:
    """What the better cure saves, and which it is.

    Array code removes the Python between native calls, not the calls. Where they are most of the
    work, what is left is to make several samples at a time: in threads, where those release
    Python's lock, or else in processes, or once for all.
    """
    floor = view.timed(AdapterFloor) or Interval.exact(0.0)
    native = loader.native_share or 0.0
    saved = _saved_by_arrays(view, loader, native, floor)
    if native < MOSTLY_NATIVE or view.cpus < 2:
        return saved, "arrays"
    way: Way = "threads" if lock_is_free(loader) else "processes"
    side_by_side = saved_by(
        view,
        _work_at_once(view, loader, native).scaled(1.0 / view.cpus) + floor,
        overlapped=True,
        cores=float(view.cpus),
    )
    tried = _saved_by_threads(view) if way == "threads" else None
    if tried is not None and tried.value >= MOST_OF_IT * side_by_side.value:
        side_by_side = tried
    elif tried is not None:
        way = "processes"
    return (side_by_side, way) if side_by_side.value > saved.value else (saved, "arrays")


def _saved_by_arrays(view: View, loader: Loader, native: float, floor: Interval) -> Interval:
    """What array code saves; `floor` is what Keras needs for a batch that costs nothing."""
    # Done once, before training, native work is gone as well.
    once = loader.in_place and loader.repeats and native < MOSTLY_NATIVE
    kept, times = (0.0, ONCE) if once else (native, VECTORISED)
    likely, most = _vectorised(loader.ns, kept, times), _vectorised(loader.ns, 0.0, times)
    # Some native calls only turn Python's lists into arrays: those would go as well.
    likely = Interval(likely.value, min(likely.low, most.low), likely.high)
    return saved_by(
        view,
        Interval.maximum(likely, _by_ops(view)) + floor,
        overlapped=False,
        # A function of a pipeline becomes ops that run per element, in as many threads as before.
        lock_is_freed=view.input.kind != "tf.data",
        under_lock=floor,
    )


def _saved_by_threads(view: View) -> Interval | None:
    """What threads save of a PyDataset's batches, where they were tried."""
    after, found = view.timed(ThreadsForWork), view.found(ThreadsForWork)
    if after is None or found is None:
        return None
    saved = saved_by(view, after, overlapped=True, cores=found.own_cores)
    return saved.minus(queue_shutdown_cost(view))


def _work_at_once(view: View, loader: Loader, native: float) -> Interval:
    """The work of a batch when all cores share it, in time of one core.

    Threads keep the Python between native calls; a pipeline of TensorFlow ops does without it.
    """
    if view.input.kind == "PyDataset":
        return loader.ns
    likely = _vectorised(loader.ns, native, VECTORISED)
    return Interval(likely.value, likely.low, loader.ns.high)


def _by_ops(view: View) -> Interval:
    """A batch of a tf.data pipeline whose Python function became TensorFlow ops, per element."""
    stage = next((stage for stage in view.stages if stage.python), None)
    if stage is None or not stage.per_batch:
        return Interval.exact(0.0)
    return ELEMENT_BY_OPS_NS.scaled(stage.per_batch)


def _vectorised(loader: Interval, native: float, times: Interval) -> Interval:
    """A batch when array code does what Python did; the native part of it stays."""
    python = loader.scaled(1.0 - native)
    return loader.scaled(native) + Interval(
        python.value / times.value, python.low / times.high, python.high / times.low
    )
