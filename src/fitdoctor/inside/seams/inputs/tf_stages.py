"""tf.data pipelines: where each stage was written, what it does, and what it reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from fitdoctor.contract.evidence.loading import StageFacts
from fitdoctor.contract.places import CodeLine
from fitdoctor.inside.ledger.callsite import Place, library_call, user_place
from fitdoctor.inside.ledger.loop_watch import LoopWatch
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.inputs.tf_pipeline import (
    inputs_of,
    made_of,
    op_of,
    watch_transformations,
)

DATASET_MODULE = "tensorflow.python.data.ops.dataset_ops"
_PLACE = "_fitdoctor_place"
_CALLED = "_fitdoctor_called"
_MAX_STAGES = 64
# Whole numbers that a stage was given and that decide what it costs.
_SETTINGS = ("batch_size", "buffer_size", "count", "cycle_length", "num_shards")
# What Keras makes of a dataset inside them is its own.
_KERAS_CALLS = ("evaluate", "fit", "predict")
_REORDERS = frozenset({"list_files", "sample_from_datasets", "shuffle"})
_RANDOM = frozenset({"random", "rejection_resample", "sample_from_datasets"})
_PYTHON_OPS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})
# Ops that are marked stateful but give the same result for the same input.
_STEADY_OPS = frozenset(
    {
        "Assert",
        "Case",
        "For",
        "HashTableV2",
        "If",
        "LookupTableFindV2",
        "LookupTableSizeV2",
        "MatchingFiles",
        "PartitionedCall",
        "Placeholder",
        "Print",
        "PrintV2",
        "ReadFile",
        "ReadVariableOp",
        "RemoteCall",
        "ResourceGather",
        "StatefulPartitionedCall",
        "VarHandleOp",
        "While",
    }
)


@dataclass(frozen=True, eq=False)
class Stage:
    """One call of the user's pipeline."""

    number: int  # 0 is the last stage, which training reads
    dataset: Any
    op: str
    inputs: tuple[int, ...]
    place: Place | None
    python: bool  # crosses into the interpreter for every element
    random: bool  # may give another value for the same input
    reorders: bool  # gives the same elements in another order each time
    parallel: int | None  # num_parallel_calls as written; -1 is AUTOTUNE
    settings: dict[str, int]
    via: str | None = None  # the library's function that made it, where the user called that

    def where(self) -> CodeLine | None:
        """The call's place as a recording keeps it."""
        return CodeLine(self.place.file, self.place.line) if self.place else None

    def facts(self) -> StageFacts:
        """What the recording keeps."""
        return StageFacts(
            n=self.number,
            op=self.op,
            inputs=self.inputs,
            file=self.place.file if self.place else None,
            line=self.place.line if self.place else None,
            python=self.python,
            random=self.random,
            reorders=self.reorders,
            parallel=self.parallel,
            via=self.via,
            **self.settings,
        )


def watch_datasets(recorder: Recorder, module: ModuleType) -> None:
    """Remember for every dataset object the user's line and the call that made it."""

    def init(original: Callable[..., None], self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        if not recorder.suspended:
            vars(self).setdefault(_PLACE, user_place(3))
            vars(self).setdefault(_CALLED, library_call(3))

    recorder.patches.around(module.DatasetV2, "__init__", init)
    watch_transformations(recorder, module)


def watch_iteration(recorder: Recorder, loops: LoopWatch, module: ModuleType) -> None:
    """A dataset iterated by the user's own code marks the steps of a hand-written loop."""
    recorder.patches.replace(
        module.OwnedIterator, "__next__", lambda original: loops.timed_next(original, "tf.data")
    )


def walk(dataset: Any) -> list[Stage]:
    """The pipeline from its last stage to its sources; a stage read twice is listed once."""
    numbers: dict[int, int] = {id(dataset): 0}
    queue: list[Any] = [dataset]
    found: list[Stage] = []
    while queue and len(found) < _MAX_STAGES:
        one = queue.pop(0)
        inputs = inputs_of(one)
        for source in inputs:
            if id(source) not in numbers:
                numbers[id(source)] = len(numbers)
                queue.append(source)
        found.append(_stage(one, numbers[id(one)], tuple(numbers[id(s)] for s in inputs)))
    return found


def stages(dataset: Any) -> tuple[StageFacts, ...]:
    """The pipeline's facts for the recording."""
    return tuple(stage.facts() for stage in walk(dataset))


def _stage(dataset: Any, number: int, inputs: tuple[int, ...]) -> Stage:
    op = op_of(dataset)
    made = made_of(dataset)
    arguments = made.arguments if made is not None else {}
    return Stage(
        number=number,
        dataset=dataset,
        op=op,
        inputs=inputs,
        place=vars(dataset).get(_PLACE),
        python=op == "from_generator" or runs_python(dataset),
        random=op in _RANDOM or is_random(dataset),
        reorders=op in _REORDERS and arguments.get("shuffle") is not False,
        parallel=_parallelism(dataset, arguments),
        settings={
            name: value for name in _SETTINGS if (value := _whole(arguments.get(name))) is not None
        },
        via=_via(vars(dataset).get(_CALLED), op),
    )


def _via(called: str | None, op: str) -> str | None:
    """The function that the user called, if that is not the stage's own."""
    if called is None or called.startswith(("_", "<")) or called in (op, *_KERAS_CALLS):
        return None
    return called


def _parallelism(dataset: Any, arguments: dict[str, Any]) -> int | None:
    """`num_parallel_calls` as written; -1 is AUTOTUNE, None is none."""
    value = arguments.get("num_parallel_calls", getattr(dataset, "_num_parallel_calls", None))
    return _whole(value)


def _whole(value: Any) -> int | None:
    if value is None or isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def runs_python(dataset: Any) -> bool:
    """Whether a stage's function crosses into the interpreter for every element."""
    return any(op in _PYTHON_OPS for op in _operations(dataset))


def is_random(dataset: Any) -> bool:
    """Whether a stage's function may give another result for the same input.

    Random and other stateful ops; what Python functions do is not known here.
    """
    registry = sys.modules["tensorflow.python.framework.op_def_registry"]
    for op in _operations(dataset):
        if op in _PYTHON_OPS or op in _STEADY_OPS or op.endswith("Dataset"):
            continue
        definition = registry.get(op)
        if definition is not None and definition.is_stateful and not _reads_files(op):
            return True
    return False


def _reads_files(op: str) -> bool:
    """Datasets inside a function (interleave) are made of stateful readers."""
    return "Dataset" in op or "Iterator" in op


def _operations(dataset: Any) -> Iterator[str]:
    """Every op of a stage's functions, also inside branches and nested functions."""
    for function in dataset._functions():
        graph = getattr(getattr(function, "function", None), "graph", None)
        if graph is None:
            continue
        definition = graph.as_graph_def()
        for node in definition.node:
            yield node.op
        for nested in definition.library.function:
            for node in nested.node_def:
                yield node.op
