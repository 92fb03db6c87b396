"""Experiments on a hand-written loop; it is ended afterwards, so they may change its training."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from fitdoctor.contract.evidence.loading import InputFacts
from fitdoctor.contract.evidence.loop import CompiledLoop, LoopLines
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.apparatus.loop_lines import LoopSampler
from fitdoctor.inside.lab.apparatus.step_function import StepFinder
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.loop_trials import LoopTrials
from fitdoctor.inside.lab.probe import Subject
from fitdoctor.inside.lab.recording import refuse, run_and_record
from fitdoctor.inside.lab.scheduler import Scheduler
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.watch import jax_calls
from fitdoctor.inside.seams.watch.eager_switch import Switch, eager_switch, place_of_switch

FROZEN_NS = 2_000_000_000
FROZEN_ITERATIONS = 8
# Functions that are called in some iterations only are traced later.
TRACED_ITERATIONS = 8
# Iterations of a watched loop that are traced, to see how an element is made.
MOST_TRACES = 2
# Bodies are averaged in this many windows.
WINDOWS = 8

Found = TypeVar("Found")


class LoopExamination:
    """Runs over several iterations: the loop itself is what is measured.

    First the loader alone; then the loop is given one batch again and again, which is
    its ceiling; then, where a switch makes all functions run eagerly, with the switch off;
    then its step function is found and tried compiled. A loop whose loader cannot be seen is
    watched as it is instead of its first two.
    """

    def __init__(
        self, recorder: Recorder, backend: Backend, loop: Loop, *, keep_running: bool
    ) -> None:
        """`keep_running`: the training must stay what it was, so only its loader is probed."""
        self._context = Context(
            recorder=recorder,
            backend=backend,
            subject=Subject.LOOP,
            workload=loop.workload,
            loop=loop,
            keep_running=keep_running,
        )
        self._loop = loop
        self._begin = 0
        self._finder: StepFinder | None = None
        self._switch: Switch | None = None
        self._seen_compiled = False
        self._sampler: LoopSampler | None = None
        self._traces = 0
        self._trials = LoopTrials(self._context, loop)

    def examine_ended(self) -> None:
        """The loop is over: only its loader can still be probed, and a step without state."""
        self._probe_loader()
        if self._loop.marker == jax_calls.MARKER:
            # A pure function: calling it again changes nothing.
            with self._context.recorder.suspend():
                self._trials.repeat_call()

    def start(self) -> None:
        """Probe the loader and freeze the batch, or begin to watch."""
        code = self._loop.frame_code
        if self._loop.loader is None and code is not None and not self._context.keep_running:
            self._sampler = LoopSampler(code)
            self._sampler.begin()
        else:
            self._probe_loader()
        if self._context.keep_running:
            reason = "a hand-written loop cannot be put back, and --continue was given"
            self._record(FrozenBatch, lambda: refuse(reason))
            return
        if self._loop.last_element is not None:
            self._loop.frozen = self._loop.last_element
        self._restart()

    def advance(self) -> bool:
        """Called between iterations; True when the examination is over."""
        if self._context.keep_running:
            return True
        if self._sampler is not None:
            self._advance_watched(self._sampler)
            return False
        if self._finder is None:
            return self._advance_frozen()
        self._finder.end()
        self._finish()
        return True

    def _record(self, kind: type[Found], experiment: Callable[[], Found]) -> Found | None:
        return run_and_record(self._context, recorded_name(kind), experiment)

    def _probe_loader(self) -> None:
        Scheduler().examine(self._context)

    def _restart(self) -> None:
        self._loop.bodies = []
        self._begin = self._context.recorder.clock()

    def _advance_watched(self, sampler: LoopSampler) -> None:
        """Enough was seen: trace one more iteration, then the other experiments."""
        iterations = len(self._loop.bodies or [])
        elapsed = self._context.recorder.clock() - self._begin
        if self._traces:
            if sampler.end_trace() and self._traces < MOST_TRACES:
                self._traces += 1
                sampler.trace()
                return
            self._sampler = None
            self._record_watched(sampler, iterations)
        elif elapsed >= FROZEN_NS and iterations >= FROZEN_ITERATIONS:
            sampler.end()
            sampler.trace()
            self._traces = 1

    def _record_watched(self, sampler: LoopSampler, iterations: int) -> None:
        seen = self._record(LoopLines, lambda: sampler.result(iterations))
        if seen is None or seen.maker is None:
            self._probe_loader()  # which says that there is none to be seen
            return
        file, line, name = seen.maker
        found = InputFacts(kind="generator", name=name, file=file, line=line)
        self._record(InputFacts, lambda: found)

    def _advance_frozen(self) -> bool:
        elapsed = self._context.recorder.clock() - self._begin
        bodies = self._loop.bodies or []
        wanted = FROZEN_ITERATIONS + (TRACED_ITERATIONS if self._switch else 0)
        if elapsed < FROZEN_NS or len(bodies) < wanted:
            return False
        if self._switch is not None:
            self._record_compiled(self._switch, bodies)
        elif self._loop.frozen is not None:
            # The first bodies wait for what the loader's threads had under way.
            kept = bodies[2:]
            self._record(FrozenBatch, lambda: FrozenBatch(ns=_means(kept), units=len(kept)))
        if self._may_compile():
            return False
        if self._loop.frame_code is None:
            self._finish()
            return True
        self._finder = StepFinder(self._loop.frame_code, self._loop.last_element)
        self._finder.begin()
        return False

    def _may_compile(self) -> bool:
        """Let the loop run with its functions compiled, where a switch kept them from it."""
        if self._seen_compiled:
            return False
        self._seen_compiled = True
        self._switch = eager_switch(self._context.backend.name)
        if self._switch is None:
            return False
        self._switch.turn(True)
        self._restart()
        return True

    def _record_compiled(self, switch: Switch, bodies: list[int]) -> None:
        """Put the switch back; the first bodies were traced."""
        switch.turn(False)
        self._switch = None
        place = place_of_switch(switch)
        kept = bodies[TRACED_ITERATIONS:]
        found = CompiledLoop(
            ns=_means(kept),
            units=len(kept),
            switch=switch.name,
            file=place.file if place else None,
            line=place.line if place else None,
        )
        self._record(CompiledLoop, lambda: found)

    def _finish(self) -> None:
        self._trials.run(self._finder)
        self._loop.frozen = None


def _means(bodies: list[int]) -> tuple[float, ...]:
    size = max(1, len(bodies) // WINDOWS)
    starts = range(0, len(bodies) - size + 1, size)
    return tuple(round(sum(bodies[start : start + size]) / size) for start in starts)
