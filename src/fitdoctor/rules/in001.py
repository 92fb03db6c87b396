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
The step after the loader's Python work became 50 times faster (20 to 200: what NumPy or
TensorFlow ops usually gain over a Python loop), overlapped as it is now. The step on a frozen
batch is the floor.

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
small, `PyDataset(workers=N, use_multiprocessing=True)` uses more cores.

## Fix safety
Vectorising keeps samples and order; check that the numbers agree. Random augmentation draws its
numbers in another order afterwards.

## When not to
- The loader waits for disk or network and the CPU is idle: that is IN002, and threads do help.
- All cores are busy in native code: the work itself is the limit.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.intervals import Interval
from fitdoctor.prediction.joint import gain
from fitdoctor.prediction.loader_cure import input_is_slow, saved_by
from fitdoctor.units import duration

PAGE = __doc__ or ""

# Fewer busy cores than this while loading alone: the loader waits rather than works.
BUSY_CORES = 0.6
# The user's Python is on the stack in at least this share of the samples.
PYTHON_SHARE = 0.5
# Kinds of input whose batches are made by Python code in this process.
PYTHON_MADE = frozenset({"PyDataset", "DataLoader", "generator"})
# How much faster array code runs than the same work in a Python loop (usual, least, most).
VECTORISED = Interval(50.0, 20.0, 200.0)


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
        after = Interval(
            loader.ns.value / VECTORISED.value,
            loader.ns.low / VECTORISED.high,
            loader.ns.high / VECTORISED.low,
        )
        saved = saved_by(view, after, overlapped=False)
        place = python_place(view)
        what = loader.hot_function[2] if loader.hot_function else view.input.get("name", "it")
        return Finding(
            rule=self.code,
            name=self.name,
            where=place,
            message=(
                f"making one batch takes {duration(loader.ns.value)} of Python in {what}, "
                f"the step itself {duration(view.ceiling_step.value)}; "
                f"{loader.cores + loader.children_cores:.1f} of {view.cpus} cores are busy, and "
                "Python's lock keeps more threads from helping"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(self.safety, _advice(view)),
            evidence={
                "loader_ns": round(loader.ns.value),
                "frozen_step_ns": round(view.ceiling_step.value),
                "busy_cores": round(loader.cores + loader.children_cores, 2),
                "python_share": round(loader.user_share, 2),
                "lock_share": None if loader.lock_share is None else round(loader.lock_share, 2),
                "measured_in_place": loader.in_place,
                "threads_help": False,
            },
            saves={"input_wait": saved},
        )


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
    return held and view.input.get("kind") in PYTHON_MADE


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


def _advice(view: View) -> str:
    kind = view.input.get("kind")
    if kind == "tf.data":
        return "write the function with TensorFlow ops, on whole batches"
    if kind == "PyDataset":
        return (
            "vectorise __getitem__ in NumPy; if that cannot be done, use_multiprocessing=True "
            "can help where batches are small and epochs long"
        )
    return "parse or compute whole batches with NumPy, or once before training"


RULE = PythonBoundLoader()
