"""# python-bound-loader (IN001)

## What it finds
Training waits for data that is made by Python code, one core's worth at a time.

## Why it is slow
Python runs one thread at a time (the interpreter lock). A `__getitem__`, a generator, or a
`numpy_function` that loops over samples in Python keeps one core busy and leaves the others,
and the training step, waiting. More threads change nothing, since they wait for the lock.

## Evidence
- a real step takes longer than a step on one batch held in memory (gain of 5 % or more), and
  the loader alone is slow enough to explain at least half of the difference;
- while the loader runs alone, at least 0.6 cores are busy, so it does not just wait;
- your own Python code is on the stack in at least half of the samples; or, for batches made by a
  `PyDataset`, a `DataLoader` or a generator, Python's lock is held in at least half of them.

## Predicted gain
One batch is traced to see how much of its time is native calls (decoding an image, say): array
code keeps those. The rest, Python itself, is taken to become 80 times faster (20 to 300: what
NumPy or TensorFlow ops usually gain over a Python loop); to that comes what Keras needs for a
batch that costs nothing to make (measured, for a PyDataset), overlapped as it is now, but not with
the Python that starts a step's operations, since both need Python's lock; a function
in tf.data that is called per element costs 0.03 ms (0.02 to 0.3) per element as TensorFlow ops.
Work of a generator is best done once, before training: then next to nothing of it is left. Where
at least half is native and several samples at a time would gain more, that is the cure and the
claim: all cores share the loading and the step; as TensorFlow ops, without the Python between. The
step on a frozen batch is the floor.

## Example
```python
class Rows(keras.utils.PyDataset):
    def __getitem__(self, index):
        return np.array([slow_python(sample) for sample in self.batch(index)]), ...
```

## Use instead
```python
    def __getitem__(self, index):
        return vectorised(self.batch(index)), ...     # NumPy on the whole batch
```
or TensorFlow ops on a batched tf.data pipeline. If the work cannot be vectorised and a batch is
small, `PyDataset(workers=N, use_multiprocessing=True)` uses more cores. The report says whether
that would help here, from the time to make a batch and the time to ship it. In a tf.data pipeline
whose Python gave the same in two passes and drew no random numbers, `.cache()` behind it keeps
what it made in the first epoch; `@functools.cache` above `__getitem__` does the same for a
`PyDataset` that gave the same batches twice and has no `on_epoch_end`. That is offered beside the
rewrite, with its own gain, where memory can hold it.

## Fix safety
Vectorising keeps samples and order; check that the numbers agree. Random augmentation draws its
numbers in another order afterwards. A cache is unsafe, since only some of the data was made twice
and compared.

## When not to
- The loader waits for disk or network and the CPU is idle: that is IN002, and threads do help.
- All cores are busy in native code: the work itself is the limit.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.loading import (
    input_is_slow,
    of_new_queue,
    saved_by,
)
from fitdoctor.rules.input.host_augmentation import layers_in_loader
from fitdoctor.rules.input.scattered_reads import is_scattered_hdf5
from fitdoctor.rules.support.places import loader_options
from fitdoctor.rules.support.processes import about_processes
from fitdoctor.rules.support.python_edits import by_edit
from fitdoctor.units import duration, percent

PAGE = __doc__ or ""

# Fewer busy cores than this while loading alone: the loader waits rather than works.
BUSY_CORES = 0.6
# The user's Python is on the stack in at least this share of the samples.
PYTHON_SHARE = 0.5
# A batch made here in less than this share of the workers' time: shipping is the cost.
SHIPPED_SHARE = 0.8
# Kinds of input whose batches are made by Python code in this process.
PYTHON_MADE = frozenset({"PyDataset", "DataLoader", "generator"})
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


class PythonBoundLoader:
    """IN001."""

    code = "IN001"
    name = "python-bound-loader"
    summary = "Python code makes the batches, one core at a time, and training waits for it"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Slow input, a busy CPU, and the user's Python on the stack."""
        loader = view.loader
        if loader is None or not input_is_slow(view):
            return None
        if loader.cores + loader.children_cores < BUSY_CORES:
            return None
        if loader.user_share is None or not _is_python(view):
            return None
        if is_scattered_hdf5(view) or is_crossing(view) or is_shipping(view):
            return None
        if view.accelerators and layers_in_loader(view) is not None:
            return None  # IN013
        saved, way = _cured(view, loader)
        place = python_place(view)
        found = Finding(
            rule=self.code,
            name=self.name,
            where=place,
            message=(
                f"making one batch takes {duration(loader.ns.value)} of Python "
                f"in {_in_what(view)}, "
                f"the step itself {duration(view.ceiling_step.value)}; "
                f"{loader.cores + loader.children_cores:.1f} of {view.cpus} cores are busy, "
                f"{_what_holds(loader)}"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(self.safety, _advice(view)) if way == "arrays" else _in_parallel(view, way),
            evidence={
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(view.ceiling_step.value),
                "busy_cores": round(loader.cores + loader.children_cores, 2),
                "python_share": round(loader.user_share, 2),
                "lock_share": None if loader.lock_share is None else round(loader.lock_share, 2),
                "native_share": (
                    None if loader.native_share is None else round(loader.native_share, 2)
                ),
                "measured_in_place": loader.in_place,
                "threads_help": _lock_is_free(loader),
            },
            saves={"input_wait": saved},
        )
        return replace(found, partly=by_edit(view, found))


def _cured(view: View, loader: Loader) -> tuple[Interval, Way]:
    """What the better cure saves, and which it is.

    Array code does away with Python between native calls, not with the calls. Where they are
    most of the work, what is left is to make several samples at a time: in threads, where those
    let go of Python's lock, or else in processes, or once for all.
    """
    floor = view.probe_ns("adapter_floor") or Interval.exact(0.0)
    native = loader.native_share or 0.0
    # Done once, before training, native work is gone as well.
    once = loader.in_place and loader.repeats and native < MOSTLY_NATIVE
    kept = 0.0 if once else native
    times = ONCE if once else VECTORISED
    likely, most = vectorised(loader.ns, kept, times), vectorised(loader.ns, 0.0, times)
    # Some native calls only turn Python's lists into arrays: those would go as well.
    likely = Interval(likely.value, min(likely.low, most.low), likely.high)
    by_arrays = Interval.maximum(likely, _by_ops(view)) + floor
    # A function of a pipeline becomes ops that run per element, in as many threads as before.
    in_pipeline = view.input.get("kind") == "tf.data"
    saved = saved_by(
        view, by_arrays, overlapped=False, lock_is_freed=not in_pipeline, under_lock=floor
    )
    if native < MOSTLY_NATIVE or view.cpus < 2:
        return saved, "arrays"
    way: Way = "threads" if _lock_is_free(loader) else "processes"
    side_by_side = saved_by(
        view,
        _at_once(view, loader, native).scaled(1.0 / view.cpus) + floor,
        overlapped=True,
        cores=float(view.cpus),
    )
    tried = _tried_in_threads(view) if way == "threads" else None
    if tried is not None and tried.value >= MOST_OF_IT * side_by_side.value:
        side_by_side = tried
    elif tried is not None:
        way = "processes"
    return (side_by_side, way) if side_by_side.value > saved.value else (saved, "arrays")


def _tried_in_threads(view: View) -> Interval | None:
    """What threads save of a PyDataset's batches, where they were tried."""
    after, data = view.probe_ns("trial_busy_threads"), view.result("trial_busy_threads")
    if after is None or data is None:
        return None
    cores = float(data["own_cores"])
    return saved_by(view, after, overlapped=True, cores=cores).minus(of_new_queue(view))


def _at_once(view: View, loader: Loader, native: float) -> Interval:
    """The work of a batch when all cores share it, in time of one core.

    Threads keep the Python between native calls; a pipeline of TensorFlow ops does without it.
    """
    if view.input.get("kind") == "PyDataset":
        return loader.ns
    likely = vectorised(loader.ns, native)
    return Interval(likely.value, likely.low, loader.ns.high)


def _by_ops(view: View) -> Interval:
    """A batch of a tf.data pipeline whose Python function became TensorFlow ops, per element."""
    stage = next((stage for stage in view.stages if stage.python), None)
    if stage is None or not stage.per_batch:
        return Interval.exact(0.0)
    return ELEMENT_BY_OPS_NS.scaled(stage.per_batch)


def vectorised(loader: Interval, native: float, times: Interval = VECTORISED) -> Interval:
    """A batch when array code does what Python did; the native part of it stays."""
    python = loader.scaled(1.0 - native)
    return loader.scaled(native) + Interval(
        python.value / times.value,
        python.low / times.high,
        python.high / times.low,
    )


def _what_holds(loader: Loader) -> str:
    if loader.native_share is None or loader.native_share < MOSTLY_NATIVE:
        return "and Python's lock keeps more threads from helping"
    return f"{percent(loader.native_share)} of it in native calls, made one sample at a time"


def _lock_is_free(loader: Loader) -> bool:
    """Native calls that let go of Python's lock: then threads help, too."""
    if loader.native_share is None or loader.native_share < MOSTLY_NATIVE:
        return False
    return loader.lock_share is not None and loader.lock_share < PYTHON_SHARE


def _is_python(view: View) -> bool:
    """The user's Python on the stack, or Python's lock held while Python code makes batches.

    A sampler sees other threads only where they give the lock away, which short calls of a
    framework do far more often than the user's own lines between them.
    """
    loader = view.loader
    if loader is None:
        return False
    if loader.user_share is not None and loader.user_share >= PYTHON_SHARE:
        return True
    held = loader.lock_share is not None and loader.lock_share >= PYTHON_SHARE
    return held and (view.input.get("kind") in PYTHON_MADE or _python_stage(view) is not None)


def _python_stage(view: View) -> StageCost | None:
    """The stage of a pipeline whose Python function takes most of the loading.

    Where the function is short, calling it from the graph is the cost: no line of the user's is
    ever seen running, but the lock is held.
    """
    loader = view.loader
    for stage in view.stages:
        own = stage.own_ns or 0.0
        if stage.python and loader is not None and own >= PYTHON_SHARE * loader.ns.value:
            return stage
    return None


def _in_what(view: View) -> str:
    """What to call the Python code."""
    if view.loader is not None and view.loader.hot_function is not None:
        return view.loader.hot_function[2]
    stage = _python_stage(view)
    return f"the function of {stage.op}" if stage else str(view.input.get("name", "it"))


def is_crossing(view: View) -> bool:
    """Elements come one by one from a generator that is itself quick: that is IN005."""
    alone = view.result("generator_alone")
    source = next((stage for stage in view.stages if stage.op == "from_generator"), None)
    if not alone or source is None or source.ns is None or not source.per_batch:
        return False
    return bool(alone["ns"] < PYTHON_SHARE * source.ns / source.per_batch)


def is_shipping(view: View) -> bool:
    """Worker processes make batches that this process makes faster: that is IN008."""
    here, loader = view.result("in_process"), view.loader
    if not here or not here.get("ns") or loader is None:
        return False
    if not view.input.get("use_multiprocessing"):
        return False
    return bool(sorted(here["ns"])[len(here["ns"]) // 2] < SHIPPED_SHARE * loader.ns.value)


def python_place(view: View) -> Where | None:
    """The user's line that makes the data: the pipeline's stage, or the hottest function."""
    for stage in view.input.get("stages", ()):
        if stage.get("python") and stage.get("file"):
            return Where(str(stage["file"]), int(stage["line"]))
    loader = view.loader
    if loader is not None and loader.hot_line is not None:
        return Where(loader.hot_line[0], loader.hot_line[1])
    if view.input.get("file"):
        return Where(str(view.input["file"]), int(view.input["line"]))
    recorded = view.recorded
    return Where(recorded.file, recorded.line or 0) if recorded.file else None


def _in_parallel(view: View, way: Way) -> Cure:
    """Several samples at a time, the way this kind of input can."""
    if view.input.get("kind") == "PyDataset":
        if way == "threads":
            # Random numbers that `__getitem__` draws come in the order of the threads.
            text = f"make batches in {view.cpus} threads: workers={view.cpus}"
            return Cure("unsafe", text, loader_options(view, workers=str(view.cpus)))
        text = "make batches in parallel, or once before training"
        return Cure("advice", _and(text, about_processes(view)))
    return Cure(
        "advice",
        "make samples in parallel: a tf.data map over TensorFlow ops with "
        "num_parallel_calls=tf.data.AUTOTUNE, or a PyDataset with workers; or once before training",
    )


def _advice(view: View) -> str:
    kind = view.input.get("kind")
    if kind == "tf.data":
        return "write the function with TensorFlow ops, on whole batches"
    if kind == "PyDataset":
        return _and("vectorise __getitem__ in NumPy", about_processes(view))
    if kind == "DataLoader":
        return (
            "vectorise __getitem__ in NumPy, or do it once before training; if that cannot be "
            f"done, DataLoader(num_workers={max(2, view.cpus)}), which are processes"
        )
    return "parse or compute whole batches with NumPy, or once before training"


def _and(text: str, more: str) -> str:
    return f"{text}; {more}" if more else text


RULE = PythonBoundLoader()
