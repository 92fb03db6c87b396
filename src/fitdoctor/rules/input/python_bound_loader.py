"""# python-bound-loader (IN001)

## What it finds
Training waits for data made by Python code, which uses only one core.

## Why it is slow
Python runs one thread at a time (the interpreter lock). A `__getitem__`, a generator, or a
`numpy_function` that loops over samples in Python keeps one core busy. The other cores and the
training step wait. More threads change nothing, because they wait for the lock.

## Evidence
- a real step takes longer than a step on one batch held in memory (gain of ${WORTH_GAIN:gain} or
  more), and the loader alone explains at least ${EXPLAINED_SHARE:percent} of the difference
  (${LOCKED_SHARE:percent} if it holds Python's lock, which slows the step itself);
- while the loader runs alone, at least ${BUSY_CORES} cores are busy, so it works and does not wait;
- your own Python code is on the stack in at least ${PYTHON_SHARE:percent} of the samples; or, for
  batches made by a `PyDataset`, a `DataLoader` or a generator, Python's lock is held in at least
  ${LOCK_SHARE:percent} of them.

## Predicted gain
One batch is traced to see how much of its time is native calls (decoding an image, say). Array code
keeps those. We assume that the rest, Python itself, becomes ${VECTORISED} times faster: the usual
gain of NumPy or TensorFlow ops over a Python loop. Added is what Keras needs for a batch that costs
nothing to make (measured, for a PyDataset). It overlaps as it does now, except with the Python that
starts a step's operations, because both need Python's lock. A tf.data function that is called per
element costs ${ELEMENT_BY_OPS_NS:ms} per element as TensorFlow ops. A generator's work is best done
once, before training: then almost none of it is left. If at least ${MOSTLY_NATIVE:percent} is
native and several samples at a time would gain more, that is the cure: all cores share the loading
and the step; as TensorFlow ops, without the Python between. The step on a frozen batch is the
floor.

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
whose Python gave the same in two passes and drew no random numbers, `.cache()` after it keeps
what it made in the first epoch; `@functools.cache` above `__getitem__` does the same for a
`PyDataset` that gave the same batches twice and has no `on_epoch_end`. That is offered beside the
rewrite, with its own gain, where it fits in ${MEMORY_SHARE:percent} of the free memory.

## Fix safety
Vectorising keeps samples and order; check that the numbers agree. Random augmentation draws its
numbers in another order afterwards. A cache is unsafe, because only part of the data was made twice
and compared.

## When not to
- The loader waits for disk or network and the CPU is idle: that is IN002, and threads do help.
- All cores are busy in native code: the work itself is the limit.
"""

from __future__ import annotations

import statistics
from dataclasses import replace

from fitdoctor.analysis.loader import Loader
from fitdoctor.analysis.pipeline import StageCost
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loading import AdapterFloor, BatchInProcess, SameBatches
from fitdoctor.contract.evidence.pipeline import CachedPython
from fitdoctor.contract.limits import MEMORY_SHARE
from fitdoctor.findings.edits import Memoise
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import loading, python_loader
from fitdoctor.pricing.python_loader import MOSTLY_NATIVE, Way
from fitdoctor.pricing.worker_processes import worker_processes
from fitdoctor.rules.rule import Rule, with_cure
from fitdoctor.rules.support import places, slow_loader
from fitdoctor.rules.support.kept_output import is_read_again, kept_bytes
from fitdoctor.units import duration, percent, size

# The user's Python is on the stack in at least this share of the samples; a stage's Python
# function takes at least this share of loading; a generator by itself, of its elements' time.
PYTHON_SHARE = 0.5
# A batch made here in less than this share of the workers' time: shipping is the cost.
SHIPPED_SHARE = 0.8
# Kinds of input whose batches are made by Python code in this process.
PYTHON_MADE = frozenset({"PyDataset", "DataLoader", "generator"})
# What an edit must gain to be offered beside the rewrite: it costs memory or more processes.
WORTH_EDITING = 1.15


class PythonBoundLoader(Rule):
    summary = "Python code makes the batches, one core at a time, and training waits for it"
    safety = "advice"
    numbers_from = (loading, python_loader, slow_loader)
    rivals_over = "loading"

    def detect(self, view: View) -> Finding | None:
        """Slow input, a busy CPU, and the user's Python on the stack."""
        loader = view.loader
        if loader is None or not loading.input_is_slow(view) or slow_loader.only_waits(loader):
            return None
        if not _is_python(view, loader) or _is_something_else(view, loader):
            return None
        saved, way = python_loader.best_way(view, loader)
        busy, step = loader.busy_cores, view.ceiling_step.value
        lock, native = loader.lock_share, loader.native_share
        found = self.finding(
            view,
            f"making one batch takes {duration(loader.ns.value)} of Python in "
            f"{_in_what(view, loader)}, the step itself {duration(step)}; "
            f"{busy:.1f} of {view.cpus} cores are busy, {_what_limits(loader)}",
            Cure(self.safety, _advice(view)) if way == "arrays" else _in_parallel(view, way),
            saves={"input_wait": saved},
            where=places.python_place(view),
            evidence={
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(step),
                "busy_cores": round(busy, 2),
                "python_share": round(loader.user_share or 0.0, 2),
                "lock_share": None if lock is None else round(lock, 2),
                "native_share": None if native is None else round(native, 2),
                "measured_in_place": loader.in_place,
                "threads_help": python_loader.lock_is_free(loader),
            },
        )
        return replace(found, partly=_by_edit(view, found))


def _is_python(view: View, loader: Loader) -> bool:
    """The user's Python on the stack, or Python's lock held while Python code makes batches.

    A sampler sees other threads only where they give the lock away, which short calls of a
    framework do far more often than the user's own lines between them.
    """
    if (loader.user_share or 0.0) >= PYTHON_SHARE:
        return True
    is_made_by_python = view.input.kind in PYTHON_MADE or _python_stage(view, loader) is not None
    return loading.holds_lock(loader) and is_made_by_python


def _python_stage(view: View, loader: Loader) -> StageCost | None:
    """The stage of a pipeline whose Python function takes most of the loading.

    Where the function is short, calling it from the graph is the cost: no line of the user's is
    ever seen running, but the lock is held.
    """
    least = PYTHON_SHARE * loader.ns.value
    return next((s for s in view.stages if s.python and (s.own_ns or 0.0) >= least), None)


def _is_something_else(view: View, loader: Loader) -> bool:
    """Python runs, but is not what takes the time: scattered reads, augmentation, hand-over."""
    if slow_loader.is_scattered_hdf5(view) or _is_shipping(view, loader):
        return True
    if view.accelerators and slow_loader.layers_in_loader(view) is not None:
        return True
    # Elements come one by one from a generator that is itself quick.
    crossing = slow_loader.crossing_of(view)
    return crossing is not None and crossing.own_ns < PYTHON_SHARE * crossing.element_ns


def _is_shipping(view: View, loader: Loader) -> bool:
    """Worker processes make batches that this process makes faster."""
    here = view.found(BatchInProcess)
    if here is None or not here.ns or not view.input.use_multiprocessing:
        return False
    return statistics.median_high(here.ns) < SHIPPED_SHARE * loader.ns.value


def _in_what(view: View, loader: Loader) -> str:
    """What to call the Python code."""
    if loader.hot_function is not None:
        return loader.hot_function[2]
    stage = _python_stage(view, loader)
    return f"the function of {stage.op}" if stage else view.input.name or "it"


def _what_limits(loader: Loader) -> str:
    if loader.native_share is None or loader.native_share < MOSTLY_NATIVE:
        return "and Python's lock keeps more threads from helping"
    return f"{percent(loader.native_share)} of it in native calls, made one sample at a time"


def _in_parallel(view: View, way: Way) -> Cure:
    """Several samples at a time, the way this kind of input can."""
    if view.input.kind != "PyDataset":
        return Cure(
            "advice",
            "make samples in parallel: a tf.data map over TensorFlow ops with num_parallel_calls="
            "tf.data.AUTOTUNE, or a PyDataset with workers; or once before training",
        )
    if way == "threads":
        # Random numbers that `__getitem__` draws come in the order of the threads.
        text = f"make batches in {view.cpus} threads: workers={view.cpus}"
        return Cure("unsafe", text, places.loader_options(view, workers=str(view.cpus)))
    return Cure("advice", f"make batches in parallel, or once before training{_or_processes(view)}")


def _advice(view: View) -> str:
    kind = view.input.kind
    if kind == "tf.data":
        return "write the function with TensorFlow ops, on whole batches"
    if kind == "PyDataset":
        return f"vectorise __getitem__ in NumPy{_or_processes(view)}"
    if kind == "DataLoader":
        return (
            "vectorise __getitem__ in NumPy, or do it once before training; if that cannot be "
            f"done, DataLoader(num_workers={max(2, view.cpus)}), which are processes"
        )
    return "parse or compute whole batches with NumPy, or once before training"


def _or_processes(view: View) -> str:
    """Whether worker processes would help; nothing where an edit offers them with their gain."""
    here = view.found(BatchInProcess)
    if here is None:
        return "; use_multiprocessing=True helps only where batches are small and epochs long"
    workers, payload = worker_processes(view), size(here.payload_bytes)
    if workers is None:
        return f"; processes would not help (a batch of {payload} has to be shipped)"
    if not workers.pays:
        return "; this run is too short for worker processes to pay"
    if places.loader_options(view, workers=str(workers.count)):
        return ""
    after = max(workers.batch_ns, view.ceiling_step.value)
    return (
        f"; if that cannot be done, workers={workers.count}, use_multiprocessing=True: a batch "
        f"every {duration(after)} (batches of {payload})"
    )


def _by_edit(view: View, found: Finding) -> Finding | None:
    """The most that an edit gains, where no one rewrites the Python."""
    if found.cure.edits:
        return None
    ways = (_processes(view, found), _cached(view, found), _memoised(view, found))
    offered = [one for one in ways if one is not None and one.gain.value >= WORTH_EDITING]
    return max(offered, key=lambda one: one.gain.value, default=None)


def _processes(view: View, found: Finding) -> Finding | None:
    """Batches made in worker processes."""
    workers = worker_processes(view)
    if workers is None or not workers.pays:
        return None
    edits = places.loader_options(view, workers=str(workers.count), use_multiprocessing="True")
    text = f"worker processes (workers={workers.count}, use_multiprocessing=True)"
    cure = Cure("unsafe", text, edits)
    return with_cure(view, found, cure, workers.saved(view)) if edits else None


def _cached(view: View, found: Finding) -> Finding | None:
    """A cache after the Python, where two passes were the same bit for bit."""
    trial = view.trial(CachedPython)
    if trial is None or not is_read_again(view, trial.found):
        return None
    stage, free = view.stage(trial.found.stage), trial.found.available_bytes
    kept = kept_bytes(view, trial.found)
    if stage is None or kept is None or free is None or kept > MEMORY_SHARE * free:
        return None
    edits = places.cached_after(view, stage)
    text = f"keep what it makes ({size(kept)}) from the second epoch on: .cache() after it"
    cure = Cure("unsafe", text, edits)
    return with_cure(view, found, cure, loading.saved_by_trial(view, trial)) if edits else None


def _memoised(view: View, found: Finding) -> Finding | None:
    """The batches of a PyDataset kept, where each was the same when made again."""
    same, made = view.found(SameBatches), view.found(BatchInProcess)
    floor, where = view.timed(AdapterFloor), places.input_place(view)
    if same is None or made is None or floor is None or view.passes == 1:
        return None
    if not same.same or same.hooks or not same.hashable or view.input.use_multiprocessing:
        return None
    if made.native is not None and made.native.random:
        return None
    kept, free = made.payload_bytes * same.length, same.available_bytes
    if free is None or kept > MEMORY_SHARE * free or where is None or not where.line:
        return None
    saved = loading.saved_by(view, floor, overlapped=False, lock_is_freed=True, under_lock=floor)
    text = f"keep its batches ({size(kept)}) from the second epoch on: @functools.cache above it"
    cure = Cure("unsafe", text, (Memoise(where, "__getitem__"),))
    return with_cure(view, found, cure, saved)


RULE = PythonBoundLoader()
