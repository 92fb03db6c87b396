"""Experiments on a hand-written loop; it is ended afterwards, so they may change its training."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from fitdoctor.contract.evidence.loop import CompiledLoop, IdleGradients
from fitdoctor.contract.evidence.memory import MemoryWhileTraining
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.results import recorded_name
from fitdoctor.inside.lab.apparatus.loop_lines import LoopSampler
from fitdoctor.inside.lab.apparatus.step_function import StepFinder
from fitdoctor.inside.lab.apparatus.steps_of_loops import step_of_loop
from fitdoctor.inside.lab.context import Context
from fitdoctor.inside.lab.loop_trials import LoopTrials
from fitdoctor.inside.lab.probe import NotAvailable, Subject
from fitdoctor.inside.lab.probes.operations import by_layer
from fitdoctor.inside.lab.recording import refuse, run_and_record
from fitdoctor.inside.lab.scheduler import Scheduler
from fitdoctor.inside.lab.watched_lines import record_lines
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends.base import Backend
from fitdoctor.inside.seams.inputs.hdf5 import Hdf5Reads
from fitdoctor.inside.seams.inputs.kept_arrays import kept, large_arrays
from fitdoctor.inside.seams.inputs.live_source import LiveSource
from fitdoctor.inside.seams.models.idle_gradients import idle_weights, without_gradients
from fitdoctor.inside.seams.operations import torch_profile
from fitdoctor.inside.seams.operations.profile import Profile, summed
from fitdoctor.inside.seams.watch.eager_switch import Switch, eager_switch, place_of_switch

STAGE_NS = 2 * NS_PER_S
# A profile of many thousand operations takes long to read.
PROFILE_NS = NS_PER_S // 2
ITERATIONS = 8
# A loop whose iterations take long is not watched for all of them.
LONGEST_STAGE_NS = 12 * NS_PER_S
FEWEST_ITERATIONS = 3
# The first bodies on a frozen batch wait for what the loader's threads had under way.
SETTLING = 2
# Functions that are called in some iterations only are traced later.
TRACED_ITERATIONS = 8
# Iterations of a watched loop that are traced, to see how an element is made.
MOST_TRACES = 2
# Bodies are averaged in this many windows.
WINDOWS = 8

Found = TypeVar("Found")
Bodies = list[int]
Stage = Generator[None, None, Found]  # each `yield` is an iteration of the loop


class LoopExamination:
    """Runs over several iterations: the loop itself is what is measured.

    First the loop is watched as it is. Where its loader can be seen, it is then given one batch
    again and again, which is its ceiling; where a switch makes all functions run eagerly, it runs
    with the switch off. Then one iteration shows which function and which model it trains, and the
    loader and the step are examined without the loop, as those of a fit are.
    """

    def __init__(
        self,
        recorder: Recorder,
        backend: Backend,
        loop: Loop,
        hdf5: Hdf5Reads,
        memory: MemoryWhileTraining | None = None,
        *,
        keep_running: bool,
    ) -> None:
        """`keep_running`: the training must stay what it was: it is watched, its loader probed."""
        self._context = Context(
            recorder=recorder,
            backend=backend,
            subject=Subject.LOOP,
            workload=loop.workload,
            loop=loop,
            hdf5=hdf5,
            period_ns=loop.workload.total_ns / max(1, loop.workload.steps),
            keep_running=keep_running,
            memory=memory,
        )
        self._recorder = recorder
        self._loop = loop
        self._finder: StepFinder | None = None
        self._sampler: LoopSampler | None = None
        self._arrays = large_arrays(loop.last_function_call)
        self._course = self._stages()

    def advance(self) -> bool:
        """Called between iterations; True when the examination is over."""
        try:
            next(self._course)
        except StopIteration:
            return True
        return False

    def examine_ended(self) -> None:
        """The loop is over: what it read and what it called last can still be examined."""
        # A stage that waits for another iteration puts back what it changed.
        self._course.close()
        if self._sampler is not None:
            self._sampler.end()
            self._record_watched(self._sampler, len(self._loop.bodies or []))
        self._loop.bodies = None
        self._examine_step()

    # -- the stages, each of some iterations -----------------------------------------

    def _stages(self) -> Stage[None]:
        """Every `yield` lets the loop run one more iteration."""
        yield from self._watched()
        if self._context.keep_running:
            Scheduler().examine(self._context)
            reason = "a hand-written loop cannot be put back, and --continue was given"
            self._record(FrozenBatch, lambda: refuse(reason))
            return
        yield from self._frozen()
        yield from self._with_functions_compiled()
        yield from self._seen_once()
        yield from self._without_idle_gradients()
        if self._loop.last_function_call is None:
            yield from self._profiled()
        self._examine_step()

    def _watched(self) -> Stage[None]:
        """The loop as it is, sampled; then one element traced as it is made."""
        code = self._loop.frame_code
        if code is None:
            return
        self._sampler = sampler = LoopSampler(code)
        sampler.begin()
        bodies = yield from self._iterations(ITERATIONS)
        sampler.end()
        for _ in range(MOST_TRACES):
            sampler.trace()
            yield
            if not sampler.end_trace():
                break
        self._sampler = None
        self._record_watched(sampler, len(bodies))

    def _frozen(self) -> Stage[None]:
        """One batch again and again, where the loop's loader is in our hands."""
        if self._loop.loader is None or self._loop.last_element is None:
            return
        self._loop.frozen = self._loop.last_element
        bodies = yield from self._iterations(ITERATIONS)
        kept = bodies[SETTLING:] or bodies
        self._record(FrozenBatch, lambda: FrozenBatch(ns=_means(kept), units=len(kept)))

    def _with_functions_compiled(self) -> Stage[None]:
        """The loop with the switch off that made its functions run op by op."""
        switch = eager_switch(self._context.backend.name)
        if switch is None:
            return
        switch.turn(True)
        try:
            bodies = yield from self._iterations(ITERATIONS + TRACED_ITERATIONS)
        finally:
            switch.turn(False)
        self._record_compiled(switch, bodies)

    def _seen_once(self) -> Stage[None]:
        """One iteration, to find the step function, its arguments and the models."""
        if self._loop.frame_code is None:
            return
        self._finder = StepFinder(
            self._loop.frame_code, self._loop.step_codes, self._loop.last_element
        )
        self._finder.begin()
        try:
            yield
        finally:
            self._finder.end()

    def _without_idle_gradients(self) -> Stage[None]:
        """On torch, the loop without gradients that belong to no optimizer."""
        if self._context.backend.name != "torch" or self._finder is None:
            return
        models = list({id(one.model): one.model for one in self._finder.models}.values())
        idle = idle_weights(models, self._loop.optimizers.values())
        if not idle:
            return
        as_is = yield from self._iterations(FEWEST_ITERATIONS, STAGE_NS // 2)
        with without_gradients([weight for _, weight in idle]):
            without = yield from self._iterations(FEWEST_ITERATIONS, STAGE_NS // 2)
        largest, _ = max(idle, key=lambda one: one[1].numel())
        found = IdleGradients(
            ns=_means(without),
            base_ns=_means(as_is),
            units=len(without),
            weights=sum(weight.numel() for _, weight in idle),
            of_weights=sum(one.numel() for model in models for one in model.parameters()),
            name=largest.rpartition(".")[2],  # as Keras calls it
        )
        self._record(IdleGradients, lambda: found)

    def _profiled(self) -> Stage[None]:
        """Some iterations under the profiler: what the loop does, however it is written."""
        is_torch = self._context.backend.name == "torch"
        if not is_torch or self._finder is None or not self._finder.models:
            return
        with torch_profile.profiling() as seen:
            bodies = yield from self._iterations(FEWEST_ITERATIONS, PROFILE_NS)
        models = {id(one.model): one.model for one in self._finder.models}
        self._record(Operations, lambda: self._operations(seen, len(bodies), models.values()))

    def _operations(
        self, seen: Callable[[], Profile], iterations: int, models: Iterable[Any]
    ) -> Operations:
        profile = seen()
        found = by_layer(
            lambda names: summed(profile, max(1, iterations), names, profile.end - profile.begin),
            models,
        )
        calls = [] if self._finder is None else self._finder.models
        single = sum(shape[:1] == (1,) for call in calls for shape in call.input_shapes[:1])
        return replace(found, in_loop=True, single_rows=single)

    def _iterations(self, wanted: int, least_ns: int = STAGE_NS) -> Stage[Bodies]:
        """Let the loop run for a while; returns how long each body took."""
        bodies: Bodies = []
        self._loop.bodies = bodies
        begin = self._recorder.clock()
        while True:
            yield
            elapsed = self._recorder.clock() - begin
            if elapsed >= least_ns and len(bodies) >= wanted:
                return bodies
            if elapsed >= LONGEST_STAGE_NS and len(bodies) >= FEWEST_ITERATIONS:
                return bodies

    # -- what was seen -----------------------------------------------------------------

    def _record(self, kind: type[Found], experiment: Callable[[], Found]) -> Found | None:
        return run_and_record(self._context, recorded_name(kind), experiment)

    def _record_watched(self, sampler: LoopSampler, iterations: int) -> None:
        record_lines(self._context, sampler, iterations)
        is_live = self._loop.loader is None and not self._context.keep_running
        if sampler.maker is not None and is_live:
            self._context.live_source = LiveSource(sampler.maker, sampler.maker_owner)

    def _record_compiled(self, switch: Switch, bodies: Bodies) -> None:
        """The first bodies were traced."""
        place = place_of_switch(switch)
        kept = bodies[TRACED_ITERATIONS:] or bodies[-1:]
        found = CompiledLoop(
            ns=_means(kept),
            units=len(kept),
            switch=switch.name,
            file=place.file if place else None,
            line=place.line if place else None,
        )
        self._record(CompiledLoop, lambda: found)

    # -- without the loop --------------------------------------------------------------

    def _examine_step(self) -> None:
        """The step by itself, and then the loader, which may be read to its end."""
        context, loop = self._context, self._loop
        with self._recorder.suspend(), context.backend.recording_gradients():
            try:
                context.trial = step_of_loop(context.backend, loop, self._finder)
            except NotAvailable as why:
                context.why_no_trial = str(why)
            except Exception as error:  # noqa: BLE001 - the user's own code runs here
                context.why_no_trial = f"{type(error).__name__}: {error}"
            again = kept(self._arrays, large_arrays(loop.last_function_call))
            LoopTrials(context, loop, again).run(self._finder)
            Scheduler().examine(context)
        loop.frozen = None


def _means(bodies: Bodies) -> tuple[float, ...]:
    size = max(1, len(bodies) // WINDOWS)
    starts = range(0, len(bodies) - size + 1, size)
    return tuple(round(sum(bodies[start : start + size]) / size) for start in starts)
