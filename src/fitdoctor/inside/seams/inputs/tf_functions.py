"""What the function of a tf.data stage does: runs Python, draws random numbers, or neither."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

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
