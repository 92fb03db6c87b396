"""A recording in which every text tries to be something else than text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NASTY = (
    '</script><img src=x onerror="window.broken=1"><!-- \'"`{{7*7}}\x1b[31m\x07\x00\r\n'
    "\u202e\u2066\u2028\u2029&lt;b&gt; ${window.broken=1}"
)


def hostile(value: Any, key: str = "") -> Any:
    """The same value with the nasty text behind every string that a program does not read."""
    if isinstance(value, str):
        return value if key in _READ_BY_PROGRAMS else value + NASTY
    if isinstance(value, dict):
        return {k: hostile(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [hostile(item, key) for item in value]
    return value


# Changing these would only make the recording one that is refused.
_READ_BY_PROGRAMS = frozenset({"k", "format", "level", "status", "hook", "marker"})


def hostile_recording(path: Path, *, renames: bool) -> Path:
    """Write a recording of a fit with stages, layers, callbacks, events, notes and samples.

    With `renames`, the kinds, probes and events that rules look for are spoiled too.
    """
    lines = [json.loads(line) for line in _lines()]
    spoiled = []
    for record in lines:
        kept = {
            key: value
            for key, value in record.items()
            if not renames and key in ("kind", "name", "backend")
        }
        spoiled.append({**hostile(record), **kept})
    path.write_text("".join(json.dumps(record) + "\n" for record in spoiled), encoding="utf-8")
    return path


def _lines() -> list[str]:
    ms = 1_000_000
    t = [10**9 + i * 30 * ms for i in range(100)]
    stages = [
        {"n": 0, "op": "batch", "inputs": [1], "file": "/user/data.py", "line": 4, "batch_size": 8},
        {"n": 1, "op": "map", "inputs": [2], "file": "/user/data.py", "line": 3, "python": True},
        {"n": 2, "op": "range", "inputs": [], "file": "/user/data.py", "line": 2},
    ]
    rows = [
        {"n": n, "per_batch": 1.0, "ns": 20 * ms, "cpu_ns": ms, "own_ns": 9 * ms, "own_cpu_ns": ms}
        for n in range(3)
    ]
    windows = {"units": 9, "clean": True, "own_cores": 1.0, "children_cores": 0.0}
    seen = {"samples": 9, "user_share": 0.9, "lock_share": 0.0}
    stacks = {**seen, "lines": [["/user/data.py", 3, "load", 9]], "functions": []}
    layers = [
        {"name": n, "type": "Dense", "ns": 5 * ms, "parameters": 10, "is_model": False}
        for n in ("dense", "dense_1")
    ]
    probes: dict[str, dict[str, Any]] = {
        "input": {"kind": "tf.data", "stages": stages},
        "frozen_batch": {"ns": [2.0 * ms] * 8, **windows},
        "loader_alone": {"ns": [29.0 * ms] * 8, **windows, "stacks": stacks},
        "stages": {"rows": rows},
        "layers": {"layers": layers},
    }
    call = {
        "t": t[0], "dur": 3001 * ms, "steps": 100, "start_up": ms, "validation": 0,
        "epoch_callbacks": 0, "batch_callbacks": 0, "step": 200 * ms, "wait": 2800 * ms,
        "epochs": 1,
    }  # fmt: skip
    item = {"name": "Spy", "hook": "batch", "count": 9, "ns": 5, "file": "/user/a.py", "line": 1}
    records: list[dict[str, Any]] = [
        {
            "k": "header", "format": "fitdoctor-recording", "schema": 1, "fitdoctor": "0.1.0",
            "script": {"path": "train.py", "argv": ["--x"]}, "cwd": "/user",
        },
        {"k": "machine", "cpus": 2, "affinity": 2, "python": "3.11", "platform": "Linux",
         "accelerators": [{"name": "H200", "memory_bytes": 5}]},
        {"k": "keras", "version": "3", "backend": "tensorflow", "backend_version": "2"},
        {
            "k": "workload", "w": 1, "kind": "fit", "file": "/user/train.py", "line": 8, "t": t[0],
            "parent": None, "detail": {"backend": "tensorflow", "epochs": 10},
        },
        {
            "k": "steps", "w": 1, "c": 0, "e": 0, "n": 1, "t": t, "step": [2 * ms] * 100,
            "wait": [28 * ms] * 100, "callbacks": [0] * 100, "others": 0.0,
        },
        {"k": "calls", "w": 1, **{key: [value] for key, value in call.items()}},
        {"k": "callbacks", "w": 1, "items": [item]},
        {"k": "event", "w": 1, "name": "trace", "t": t[5], "dur": 5 * ms, "detail": {"why": "a"}},
        {"k": "event", "w": 1, "name": "validation", "t": t[9], "dur": 5 * ms, "detail": {}},
        {"k": "note", "level": "warning", "message": "careful", "w": 1},
        {"k": "note", "level": "info", "message": "all of it", "w": None},
        {"k": "probe", "w": 1, "name": "scaling", "status": "failed", "reason": "no", "t": 1},
        *({"k": "sample", "t": t[0] + i * 250 * ms, "cores": [50.0, 50.0], "cpu_ns": i * 250 * ms,
           "threads": [[1, "python", 5]], "rss": 10**9, "children_rss": 0, "children_cpu_ns": 0,
           "gpu": [{"util": 50, "mem": 10**9}]} for i in range(8)),
    ]  # fmt: skip
    records += [
        {"k": "probe", "w": 1, "name": name, "status": "ok", "data": data, "t": t[-1], "dur": ms}
        for name, data in probes.items()
    ]
    records.append({"k": "exit", "t": t[-1], "code": 0, "signal": None})
    return [json.dumps(record) for record in records]
