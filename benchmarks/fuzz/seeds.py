"""Small recordings to damage: one of each kind of training, and one with every probe result."""

from __future__ import annotations

import json
import types
import typing
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from fitdoctor.contract.codec import encode
from fitdoctor.contract.records import FORMAT, SCHEMA, CallRow
from fitdoctor.contract.results import all_kinds, is_family

MS = 1_000_000
START = 10**9
SHIPPED = Path(__file__).parents[2] / "tests" / "contract" / "recordings"
# Keys of families that rules ask for.
KEYS = {
    "step": ("float32", "mixed_float16", "full_steps"),
    "copy": ("as_is", "float32", "mixed_bfloat16"),
    "steps_per_execution": ("4", "16"),
    "fresh": ("threads", "cpu", "gpu", "jax", "one_device"),
    "cure_trial": ("IN001", "IN004", "HO002"),
}
# Fields whose value a rule or a report reads as a word or a list of a certain form.
WORDS = {
    "kind": "tf.data",
    "op": "map",
    "hook": "batch",
    "backend": "tensorflow",
    "file": "/u/a.py",
}

Line = dict[str, Any]


def all_seeds(folder: Path | None = None) -> list[list[Line]]:
    """The recordings of this module, those shipped with the tests, and those of a folder."""
    made = [whole(), whole("PyDataset", "torch"), loop(), calls()]
    files = [*sorted(SHIPPED.glob("*.rec")), *(sorted(folder.rglob("*.rec")) if folder else ())]
    return made + [[json.loads(line) for line in lines_of(path)] for path in files]


def lines_of(path: Path) -> list[str]:
    """The records of a file."""
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def whole(kind: str = "tf.data", backend: str = "tensorflow") -> list[Line]:
    """A fit with every result that any probe can write."""
    return [*_start(backend), *_fit(backend), *_results(kind), *_samples(), *_end()]


def loop() -> list[Line]:
    """A hand-written loop with calls inside it."""
    inner = {"k": "workload", "w": 2, "kind": "predict", "t": START, "parent": 1, "file": "/u/t.py"}
    return [
        *_start("jax"),
        _workload("loop", {"backend": "jax", "marker": "jax.jit"}),
        inner,
        *_steps(),
        _calls(w=2, count=12),
        *_results("generator"),
        *_end(),
    ]


def calls() -> list[Line]:
    """Many calls from one line."""
    return [
        *_start("tensorflow"),
        _workload("predict", {"backend": "tensorflow"}),
        _calls(count=14),
        *_results("arrays", only=("alternatives", "array_conversion", "device")),
        *_samples(),
        *_end(),
    ]


def _start(backend: str) -> list[Line]:
    script = {"path": "train.py", "argv": ["--x"], "module": False}
    device = {"name": "H200", "memory_bytes": 2**37, "processes": [{"pid": 5, "name": "python"}]}
    machine = {"cpus": 2, "affinity": 2, "cgroup_cpus": 1.5, "memory_bytes": 2**34, "python": "3"}
    return [
        {"k": "header", "format": FORMAT, "schema": SCHEMA, "fitdoctor": "0.1.0", "script": script},
        {"k": "machine", **machine, "accelerators": [device]},
        {"k": "keras", "version": "3.15.1", "backend": backend, "backend_version": "2.21"},
        {"k": "sources", "sha256": {"train.py": "00", "/u/a.py": None}},
        {"k": "event", "name": "import", "t": 1, "dur": MS, "detail": {"module": "keras"}},
        {"k": "event", "name": "compile_call", "t": 2, "dur": MS, "detail": {"model": 1}},
    ]


def _workload(kind: str, detail: Line) -> Line:
    place = {"file": "/u/train.py", "line": 88, "t": START, "parent": None}
    return {"k": "workload", "w": 1, "kind": kind, **place, "detail": detail}


def _fit(backend: str) -> list[Line]:
    detail = {"backend": backend, "epochs": 9, "batch_size": 32, "model": "Sequential"}
    callbacks = [
        {"name": name, "hook": hook, "count": 9, "ns": 40 * MS, "file": "/u/a.py", "line": 4}
        for name, hook in (("Spy", "batch"), ("ModelCheckpoint", "epoch"))
    ]
    events = [
        {"k": "event", "w": 1, "name": name, "t": START + i * 90 * MS, "dur": 3 * MS, "detail": d}
        for i in range(4)
        for name, d in (
            ("trace", {"name": "train_step", "shapes": ["8x3"], "changed": ["x"], "model": 1}),
            ("compile", {"name": "step", "count": 2}),
            ("validation", {"steps": 4}),
            ("iterator_wait", {}),
        )
    ]
    return [
        _workload("fit", {**detail, "validation": True, "model_number": 1}),
        *_steps(),
        _calls(),
        {"k": "callbacks", "w": 1, "items": callbacks},
        *events,
        {"k": "note", "level": "warning", "message": "careful", "w": 1},
        {"k": "probe", "w": 1, "name": "batch_scaling", "status": "failed", "reason": "no memory"},
    ]


def _steps(epochs: int = 4, rows: int = 12) -> list[Line]:
    found = []
    for epoch in range(epochs):
        t = [START + (epoch * (rows + 1) + i) * 20 * MS for i in range(rows)]
        columns = {"t": t, "step": [9 * MS] * rows, "wait": [9 * MS] * rows}
        more = {"callbacks": [MS] * rows, "others": 0.0}
        found.append({"k": "steps", "w": 1, "c": 0, "e": epoch, "n": 1, **columns, **more})
    return found


def _calls(w: int = 1, count: int = 1) -> Line:
    row = {"dur": 1100 * MS, "steps": 48, "start_up": 5 * MS, "epochs": 4, "step": 432 * MS}
    if count > 1:
        row = {"dur": 40 * MS, "steps": 1, "start_up": 30 * MS, "epochs": 1, "step": 9 * MS}
    columns = {name: [row.get(name, MS)] * count for name in (one.name for one in fields(CallRow))}
    return {"k": "calls", "w": w, **columns, "t": [START - MS + i * 50 * MS for i in range(count)]}


def _samples() -> list[Line]:
    return [
        {
            "k": "sample", "t": START + i * 250 * MS, "cores": [50.0, 9.5], "cpu_ns": i * 200 * MS,
            "rss": 10**9, "major_faults": 100 * i, "children": 1, "children_cpu_ns": 0,
            "throttled": i, "gpu": [{"util": 50.0, "mem": 10**9, "held": ["heat"], "clock": 900}],
        }
        for i in range(4)
    ]  # fmt: skip


def _end() -> list[Line]:
    return [
        {"k": "overhead", "ns_per_step": 1500.0},
        {"k": "examined", "t": START},
        {"k": "exit", "t": START, "code": 0, "signal": None},
    ]


def _results(kind: str, only: tuple[str, ...] = ()) -> list[Line]:
    found = []
    for name, result in all_kinds().items():
        if only and name not in only:
            continue
        names = [f"{name}_{key}" for key in KEYS[name]] if is_family(result) else [name]
        data = encode(example(result))
        if name == "input":
            data = {**data, "kind": kind, "stages": _stages()}
        found += [
            {"k": "probe", "w": 1, "name": one, "status": "ok", "t": START, "dur": MS, "data": data}
            for one in names
        ]
    return found


def _stages() -> list[Line]:
    ops = ("prefetch", "batch", "map", "shuffle", "interleave", "list_files")
    return [
        {"n": n, "op": op, "inputs": [n + 1], "file": "/u/a.py", "line": 9 + n, "parallel": -1}
        for n, op in enumerate(ops)
    ]


def example(kind: Any, name: str = "") -> Any:
    """A plausible value of a type of the contract."""
    origin, arguments = get_origin(kind), get_args(kind)
    if hasattr(kind, "__dataclass_fields__"):
        hints = typing.get_type_hints(kind, include_extras=True)
        return kind(**{one.name: example(hints[one.name], one.name) for one in fields(kind)})
    if origin in (Union, types.UnionType):
        return example(next(one for one in arguments if one is not type(None)), name)
    if origin is Literal:
        return arguments[0]
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return tuple(example(arguments[0], name) for _ in range(4))
        return tuple(example(one, name) for one in arguments)
    if origin is dict:
        return {size: example(arguments[1], name) for size in ("16", "64", "256")}
    return _scalar(kind, name)


def _scalar(kind: Any, name: str) -> Any:
    if kind is bool:
        return True
    if kind is str:
        return WORDS.get(name, name or "x")
    if get_origin(kind) is Annotated or kind is int:
        return 4 * MS if name.endswith("ns") else 8
    return 4.0 * MS if name.endswith("ns") or name in ("as_is", "changed") else 0.5
