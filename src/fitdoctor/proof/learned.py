"""What one untimed run wrote down: its batches, its losses, its outputs and its weights."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from fitdoctor.contract.records import Recording
from fitdoctor.proof.timeline import timeline_of

OUTPUTS = "~outputs"


@dataclass(frozen=True)
class Batch:
    """The fingerprint of one batch."""

    digest: str
    rows: int | None
    total: int | None  # a sum over its samples that no order changes


@dataclass(frozen=True)
class Learned:
    """Everything that two runs are compared by."""

    steps: int
    batches: tuple[Batch, ...]
    losses: dict[int, float]  # by the number of steps done
    outputs: tuple[str, ...]  # digests
    weights: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    why_no_weights: str = ""
    epoch_ends: tuple[int, ...] = ()  # steps done at the end of each complete epoch


def read_learned(path: Path, weights: Path, recording: Recording) -> Learned:
    """Read what a run of `LearningWatch` left behind."""
    batches: list[Batch] = []
    losses: dict[int, float] = {}
    outputs: list[str] = []
    steps, reason = 0, "the script ended before its weights were read"
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        record = _record(line)
        kind = record.get("k")
        if kind == "batch":
            batches.append(Batch(str(record["d"]), record["rows"], record["sum"]))
        elif kind == "loss":
            losses[int(record["steps"])] = float.fromhex(record["loss"])
        elif kind == "output":
            outputs.append(str(record["d"]))
        elif kind == "no_weights":
            reason = str(record["reason"])
        elif kind == "learned":
            steps = int(record["steps"])
    if not steps:
        timeline = timeline_of(recording)
        steps = timeline.steps if timeline is not None else 0
    arrays = _arrays(weights)
    return Learned(
        steps=steps,
        batches=tuple(batches),
        losses=losses,
        outputs=tuple(outputs),
        weights=arrays,
        why_no_weights="" if any(name != OUTPUTS for name in arrays) else reason,
        epoch_ends=_epoch_ends(recording),
    )


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _arrays(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    if not path.exists():
        return {}
    # Never unpickled: an archive with objects in it is refused.
    with np.load(path, allow_pickle=False) as archive:
        names = [str(name) for name in archive["names"]]
        return {name: archive[f"a{number}"] for number, name in enumerate(names)}


def _epoch_ends(recording: Recording) -> tuple[int, ...]:
    """Where every epoch that another one follows, or whose fit returned, came to its end."""
    ends: list[int] = []
    done = 0
    for workload in recording.workloads:
        last: tuple[int, int] | None = None
        for block in workload.blocks:
            epoch = (block.call, block.epoch)
            if last is not None and epoch != last:
                ends.append(done)
            last = epoch
            done += len(block.t) * block.executions
    if not recording.examined and done:
        ends.append(done)
    return tuple(ends)
