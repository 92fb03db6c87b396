"""Workloads that trace or compile again and again, for the tests of CO001 and CO002."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fitdoctor.analysis.build_view import view_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loop import RepeatedCall
from fitdoctor.contract.records import Event, EventDetail, RecordedWorkload
from synthetic import MS, fit_workload, recording, timed


def jax_loop(
    *,
    shapes: Callable[[int], tuple[str, ...]] = lambda i: (),
    changed: Callable[[int], tuple[str, ...]] = lambda i: (),
) -> View:
    """A loop whose every step is compiled again by JAX."""
    workload = fit_workload(
        kind="loop",
        period=140 * MS,
        step=139 * MS,
        wait=None,
        steps=60,
        found=[timed(RepeatedCall, MS)],
        detail={"backend": "jax", "marker": "jax.jit"},
    )
    events = []
    for i, t in enumerate(workload.blocks[0].t):
        detail = EventDetail(
            name="jit(step)",
            file="/user/t.py",
            line=4,
            model=0,
            called_from=("/user/t.py", 20),
            shapes=shapes(i),
            changed=changed(i),
        )
        events.append(Event("compile", t + 1, 80 * MS, 0, 0, detail))
    workload = replace(workload, events=tuple(events))
    found = view_of(recording(workload, backend="jax"), workload)
    assert found is not None
    return found


def compiling(shapes: Sequence[str], *, every: int = 4) -> RecordedWorkload:
    """A JAX fit in which every fourth step compiles for 200 ms."""
    workload = fit_workload(steps=200, period=10 * MS, step=9 * MS, detail={"backend": "jax"})
    block = workload.blocks[0]
    times, steps, events, t = [], [], [], 10**9
    for i in range(200):
        compiles = i % every == 0
        step = 209 * MS if compiles else 9 * MS
        if compiles:
            shape = shapes[(i // every) % len(shapes)]
            detail = EventDetail(name="step", shapes=(shape,), model=1)
            events.append(Event("compile", t, 200 * MS, 0, i, detail))
        times.append(t)
        steps.append(step)
        t += step + MS
    return replace(
        workload,
        blocks=(replace(block, t=tuple(times), step=tuple(steps)),),
        events=tuple(events),
    )
