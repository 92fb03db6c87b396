"""`fitdoctor run --live`: what training looks like now, while it runs."""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fitdoctor.cli.following import Follower
from fitdoctor.cli.live_panel import Panel
from fitdoctor.cli.output import can_redraw, write
from fitdoctor.launch.recording_files import record_in
from fitdoctor.units import duration, percent, size

PERIOD_S = 1.0
# Into a file or a pipe each line stays, so there are fewer.
PLAIN_PERIOD_S = 5.0
# The line is about the last blocks of steps, about half a second each.
BLOCKS = 8
# A part of the step that is this large is what the training looks bound by.
LARGE = 0.4
# Columns of a bar that is the whole step.
BAR = 20


@dataclass
class Status:
    """What the last moments of training looked like."""

    blocks: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=BLOCKS))
    samples: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=2))
    steps: int = 0

    def add(self, line: bytes) -> None:
        """Take in one line of the recording; lines of other kinds are left alone."""
        record = record_in(line, "steps", "sample")
        if record.get("k") == "steps" and len(record.get("t") or ()) > 1:
            self.blocks.append(record)
            self.steps += len(record["t"]) * int(record.get("n", 1))
        elif record.get("k") == "sample":
            self.samples.append(record)

    def text(self) -> str:
        """One line, or nothing before the first steps."""
        shares = self._shares()
        if not shares:
            return ""
        parts = [f"{name} {percent(share)}" for name, share in shares.items()]
        return " · ".join([*self._pace(), *parts, *self._machine(), _verdict(shares)])

    def lines(self) -> list[str]:
        """The same for a panel: the verdict first, a bar for each part, the machine."""
        shares = self._shares()
        if not shares:
            return ["fitdoctor · no step yet", "", "  " + " · ".join(self._machine())]
        bars = (f"{name} {percent(one)} {'█' * round(one * BAR)}" for name, one in shares.items())
        return [
            " · ".join(["fitdoctor", _verdict(shares), *self._pace()]),
            "  " + "   ".join(bars),
            "  " + " · ".join(self._machine()),
        ]

    def _span(self) -> tuple[float, int]:
        """Time of the last blocks, and the steps in it."""
        time = sum(block["t"][-1] - block["t"][0] for block in self.blocks)
        count = sum((len(block["t"]) - 1) * int(block.get("n", 1)) for block in self.blocks)
        return time, count

    def _pace(self) -> list[str]:
        time, count = self._span()
        return [f"{self.steps} steps", f"{duration(time / count)} a step"]

    def _shares(self) -> dict[str, float]:
        time, count = self._span()
        if not count or time <= 0:
            return {}
        wait = sum(map(_wait, self.blocks))
        callbacks = sum(sum(block.get("callbacks") or ()) for block in self.blocks)
        shares = {
            "waiting for data": min(1.0, wait / time),
            "callbacks": min(1.0, callbacks / time),
            "step": max(0.0, 1 - (wait + callbacks) / time),
        }
        return {name: share for name, share in shares.items() if share >= 0.01}

    def _machine(self) -> list[str]:
        if len(self.samples) < 2:
            return []
        before, now = self.samples
        found = []
        if now.get("cpu_ns") is not None and before.get("cpu_ns") is not None:
            cores = (now["cpu_ns"] - before["cpu_ns"]) / max(1, now["t"] - before["t"])
            found.append(f"{cores:.1f} of {len(now.get('cores') or [0])} cores")
        if now.get("rss"):
            found.append(size(now["rss"]))
        return found + [
            f"GPU {number} {percent(gpu['util'] / 100)}"
            for number, gpu in enumerate(now.get("gpu") or ())
            if gpu.get("util") is not None
        ]


def _wait(block: dict[str, Any]) -> float:
    """Input wait of a block: measured in the graph, or step by step."""
    in_graph: float | None = block.get("graph_wait")
    return sum(filter(None, block.get("wait") or ())) if in_graph is None else in_graph


def _verdict(shares: dict[str, float]) -> str:
    if shares.get("waiting for data", 0) >= LARGE:
        return "looks input-bound"
    return (
        "looks callback-bound" if shares.get("callbacks", 0) >= LARGE else "the step takes the time"
    )


class Live(Follower):
    """A panel at the foot of a terminal, plain lines elsewhere."""

    def __init__(self, recording: Path) -> None:
        self._panel = Panel(sys.stderr) if can_redraw(sys.stderr) else None
        period_s = PLAIN_PERIOD_S if self._panel is None else PERIOD_S
        super().__init__(recording, name="live", period_s=period_s)
        self._status = Status()

    def look(self, lines: list[bytes]) -> None:
        """Show the last moments of training; the report follows the last look."""
        for line in lines:
            self._status.add(line)
        if self._stopped.is_set():
            return
        if self._panel is not None:
            self._panel.show(self._status.lines())
        elif text := self._status.text():
            write(sys.stderr, f"fitdoctor · {text}\n")

    def close(self) -> None:
        if self._panel is not None:
            self._panel.close()
