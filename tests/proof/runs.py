"""Synthetic runs: timelines without a process."""

from __future__ import annotations

import random
from collections.abc import Callable

from fitdoctor.proof.measured import CannotCompare, Observed
from fitdoctor.proof.timeline import Span, Timeline

MS = 1_000_000


def timeline(
    steps: int,
    step_ns: float,
    *,
    warm_up: int = 0,
    epoch_steps: int | None = None,
    disturbed: float = 0.0,
    start_ns: int = 0,
) -> Timeline:
    """Equal steps, the first ones ten times as long."""
    spans, t = [], start_ns
    for number in range(steps):
        length = int(step_ns * (10 if number < warm_up else 1))
        spans.append(Span(t, t + length, 1))
        t += length
    return Timeline(tuple(spans), epoch_steps, 1, disturbed)


class FakeSides:
    """Runs of two sides with given step times and a clock that they move on."""

    def __init__(
        self,
        before_ns: float,
        after_ns: float,
        *,
        noise: float = 0.0,
        own_steps: dict[str, int] | None = None,
        seed: int = 0,
        change: Callable[[int, str], dict[str, object]] = lambda run, side: {},
    ) -> None:
        self.times = {"A": before_ns, "B": after_ns}
        self.noise = noise
        self.own_steps = own_steps or {}
        self.random = random.Random(seed)
        self.change = change
        self.now = 0.0
        self.order: list[str] = []

    def clock(self) -> float:
        return self.now

    def run(self, side: str, steps: int | None, seconds: float) -> Observed:
        self.order.append(side)
        changes = self.change(len(self.order), side)
        if "failure" in changes:
            raise CannotCompare(str(changes["failure"]))
        step_ns = self.times[side] * self.random.lognormvariate(0, self.noise)
        limit = int(seconds * 1e9 / step_ns)
        count = limit if steps is None else min(limit, steps)
        own = self.own_steps.get(side)
        ended_by_us = own is None or count < own
        count = count if own is None or count < own else own
        self.now += 5 + count * step_ns / 1e9
        line = timeline(count, step_ns, disturbed=float(changes.get("disturbed", 0.0)))
        return Observed(line, -5_000_000_000, ended_by_us)
