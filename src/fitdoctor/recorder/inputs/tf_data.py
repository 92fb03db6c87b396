"""tf.data pipelines: where each stage was written, and which stages run Python."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

from fitdoctor.recorder.callsite import user_place
from fitdoctor.recorder.loops import LoopWatch
from fitdoctor.recorder.session import Recorder

DATASET_MODULE = "tensorflow.python.data.ops.dataset_ops"
_PLACE = "_fitdoctor_place"
_PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
_MAX_STAGES = 64


def watch_datasets(recorder: Recorder, module: ModuleType) -> None:
    """Remember for every dataset object the user's line that made it."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if not recorder.suspended:
                vars(self).setdefault(_PLACE, user_place(2))

        return init

    recorder.patches.replace(module.DatasetV2, "__init__", make)


def watch_iteration(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """A dataset iterated by the user's own code marks the steps of a hand-written loop."""
    recorder.patches.replace(
        module.OwnedIterator, "__next__", lambda original: loops.timed_next(original, "tf.data")
    )


def stages(dataset: Any) -> list[dict[str, Any]]:
    """The pipeline from its last stage to its sources, each with its place."""
    found: list[dict[str, Any]] = []
    queue = [dataset]
    while queue and len(found) < _MAX_STAGES:
        stage = queue.pop(0)
        place = vars(stage).get(_PLACE)
        found.append(
            {
                "op": type(stage).__name__.strip("_"),
                "file": place.file if place else None,
                "line": place.line if place else None,
                "python": _runs_python(stage),
                "parallel": _parallelism(stage),
            }
        )
        queue.extend(stage._inputs())
    return found


def _runs_python(stage: Any) -> bool:
    """Whether a stage's function crosses into the interpreter for every element."""
    for function in stage._functions():
        graph = getattr(getattr(function, "function", None), "graph", None)
        operations = graph.get_operations() if graph is not None else ()
        if any(operation.type in _PYTHON_OPS for operation in operations):
            return True
    return False


def _parallelism(stage: Any) -> int | None:
    """`num_parallel_calls` as written; -1 is AUTOTUNE, None is none."""
    value = getattr(stage, "_num_parallel_calls", None)
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        return None
