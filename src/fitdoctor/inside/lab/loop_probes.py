"""Experiments on a hand-written loop; it is ended afterwards, so they may change its training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fitdoctor.inside.lab import input_probes
from fitdoctor.inside.lab.apparatus.loop_lines import LoopLines
from fitdoctor.inside.lab.apparatus.reference import reference_step
from fitdoctor.inside.lab.apparatus.step_function import StepFinder
from fitdoctor.inside.lab.apparatus.windows import measure
from fitdoctor.inside.lab.experiment import Data, run_probe
from fitdoctor.inside.lab.probes.loader_alone import loader_alone
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.seams.backends.base import Backend, NotAvailable
from fitdoctor.inside.seams.inputs.loop_source import (
    describe_loop_source,
    fresh_loop_source,
    loop_dataset,
)
from fitdoctor.inside.seams.models.graph_trial import GraphTrial
from fitdoctor.inside.seams.watch import jax_calls
from fitdoctor.inside.seams.watch.eager_switch import Switch, eager_switch, place_of_switch

FROZEN_NS = 2_000_000_000
FROZEN_ITERATIONS = 8
# Functions that are called in some iterations only are traced later.
TRACED_ITERATIONS = 8
# Iterations of a watched loop that are traced, to see how an element is made.
MOST_TRACES = 2
SECONDS = 0.8


class LoopExamination:
    """Runs over several iterations: the loop itself is what is measured.

    First the loader alone; then the loop is given one batch again and again, which is
    its ceiling; then, where a switch makes all functions run eagerly, with the switch off;
    then its step function is found and tried compiled. A loop whose loader cannot be seen is
    watched as it is instead of its first two.
    """

    def __init__(self, recorder: Recorder, backend: Backend, loop: Loop, *, go_on: bool) -> None:
        """`go_on`: the training must stay what it was, so only its loader may be probed."""
        self._recorder = recorder
        self._backend = backend
        self._loop = loop
        self._go_on = go_on
        self._begin = 0
        self._finder: StepFinder | None = None
        self._switch: Switch | None = None
        self._seen_compiled = False
        self._lines: LoopLines | None = None
        self._traces = 0
        self._compiled: Callable[..., Any] | None = None

    def examine_ended(self) -> None:
        """The loop is over: only its loader can still be probed, and a step without state."""
        self._probe_loader()
        if self._loop.marker == jax_calls.MARKER:
            # A pure function: calling it again changes nothing.
            with self._recorder.suspend():
                self._probe("repeat_call", self._repeat_call)

    def start(self) -> None:
        """Probe the loader and freeze the batch, or begin to watch."""
        code = self._loop.frame_code
        if self._loop.loader is None and code is not None and not self._go_on:
            self._lines = LoopLines(code)
            self._lines.begin()
        else:
            self._probe_loader()
        if self._go_on:
            self._refuse("frozen_batch")
            return
        if self._loop.last_element is not None:
            self._loop.frozen = self._loop.last_element
        self._loop.bodies = []
        self._begin = self._recorder.clock()

    def _probe_loader(self) -> None:
        number = self._loop.workload.number
        run_probe(self._recorder, number, "input", lambda: describe_loop_source(self._loop))
        with self._recorder.suspend():
            alone = run_probe(self._recorder, number, "loader_alone", self._loader_alone)
            if alone is not None and self._loop.marker == "tf.data":
                input_probes.probe_pipeline(self._probe, loop_dataset(self._loop))

    def _probe(self, name: str, experiment: Callable[[], Data]) -> Data | None:
        return run_probe(self._recorder, self._loop.workload.number, name, experiment)

    def advance(self) -> bool:
        """Called between iterations; True when the examination is over."""
        if self._go_on:
            return True
        if self._lines is not None:
            self._advance_lines(self._lines)
            return False
        if self._finder is None:
            return self._advance_frozen()
        self._finder.end()
        self._finish()
        return True

    def _advance_lines(self, lines: LoopLines) -> None:
        """Enough was seen: trace one more iteration, then the other experiments."""
        iterations = len(self._loop.bodies or [])
        elapsed = self._recorder.clock() - self._begin
        if self._traces:
            if lines.end_trace() and self._traces < MOST_TRACES:
                self._traces += 1
                lines.trace()
                return
            self._lines = None
            self._record_lines(lines, iterations)
        elif elapsed >= FROZEN_NS and iterations >= FROZEN_ITERATIONS:
            lines.end()
            lines.trace()
            self._traces = 1

    def _record_lines(self, lines: LoopLines, iterations: int) -> None:
        seen = self._probe("loop_lines", lambda: lines.result(iterations))
        maker = seen and seen["maker"]
        if not maker:
            self._probe_loader()  # which says that there is none to be seen
            return
        file, line, name = maker
        found = {"kind": "generator", "name": name, "file": file, "line": line}
        self._probe("input", lambda: found)

    def _advance_frozen(self) -> bool:
        elapsed = self._recorder.clock() - self._begin
        bodies = self._loop.bodies or []
        wanted = FROZEN_ITERATIONS + (TRACED_ITERATIONS if self._switch else 0)
        if elapsed < FROZEN_NS or len(bodies) < wanted:
            return False
        if self._switch is not None:
            self._record_compiled(self._switch, bodies)
        elif self._loop.frozen is not None:
            self._record_bodies("frozen_batch", bodies[2:])
        if self._may_compile():
            return False
        if self._loop.frame_code is None:
            self._finish()
            return True
        self._finder = StepFinder(self._loop.frame_code, self._loop.last_element)
        self._finder.begin()
        return False

    def _may_compile(self) -> bool:
        """Let the loop go on with its functions compiled, where a switch kept them from it."""
        if self._seen_compiled:
            return False
        self._seen_compiled = True
        self._switch = eager_switch(self._backend.name)
        if self._switch is None:
            return False
        self._switch.turn(True)
        self._loop.bodies = []
        self._begin = self._recorder.clock()
        return True

    def _record_compiled(self, switch: Switch, bodies: list[int]) -> None:
        """Put the switch back; the first bodies were traced."""
        switch.turn(False)
        self._switch = None
        place = place_of_switch(switch)
        facts = {"switch": switch.name}
        if place is not None:
            facts.update(file=place.file, line=str(place.line))
        self._record_bodies("compiled_loop", bodies[TRACED_ITERATIONS:], **facts)

    def _record_bodies(self, name: str, kept: list[int], **facts: str) -> None:
        # The first bodies are left out: they wait for what the loader's threads had under way.
        size = max(1, len(kept) // 8)
        means = [sum(kept[i : i + size]) / size for i in range(0, len(kept) - size + 1, size)]
        data = {"ns": [round(m) for m in means], "units": len(kept), "clean": True, **facts}
        run_probe(self._recorder, self._loop.workload.number, name, lambda: data)

    def _finish(self) -> None:
        number = self._loop.workload.number
        with self._recorder.suspend():
            run_probe(self._recorder, number, "repeat_call", self._repeat_call)
            if self._loop.last_function_call is None:
                run_probe(self._recorder, number, "compiled_step", self._compiled_step)
                if isinstance(self._compiled, GraphTrial):
                    run_probe(self._recorder, number, "compiled_agrees", self._compiled_agrees)
        self._loop.frozen = None

    def _refuse(self, name: str) -> None:
        def refuse() -> Data:
            raise NotAvailable("a hand-written loop cannot be put back, and --continue was given")

        run_probe(self._recorder, self._loop.workload.number, name, refuse)

    def _loader_alone(self) -> Data:
        return loader_alone(lambda: fresh_loop_source(self._loop))

    def _repeat_call(self) -> Data:
        """The compiled function again with the same arguments: its cost without a new trace."""
        called = self._loop.last_function_call
        if called is None:
            raise NotAvailable("the loop's body calls no compiled function")
        function, args, kwargs = called
        return self._timed(lambda: function(*args, **kwargs))

    def _compiled_step(self) -> Data:
        finder = self._finder
        if finder is None:
            raise NotAvailable("the loop's body was not seen")
        if finder.found is not None:
            step = finder.found
            compiled = self._compiled = self._backend.compiled(step.function)
            data = self._timed(lambda: compiled(*step.arguments))
            eager = self._timed(lambda: step.function(*step.arguments))
            place = {"file": step.file, "line": step.line, "function": step.name}
            place["numbers_read"] = getattr(compiled, "numbers_read", 0)
            return {**data, **place, "eager": eager, "stands_for": "step function"}
        reference = reference_step(finder.body_locals, self._loop.last_element)
        return {**self._timed(reference), "stands_for": "reference"}

    def _compiled_agrees(self) -> Data:
        """Whether the compiled step trains as the eager one does, bit by bit."""
        step = self._finder.found if self._finder is not None else None
        if step is None or not isinstance(self._compiled, GraphTrial):
            raise NotAvailable("no step was compiled")
        return {"same": self._compiled.same_as_eager(step.arguments)}

    def _timed(self, function: Callable[[], Any]) -> Data:
        for _ in range(2):
            self._backend.wait_for(function())

        def work() -> int:
            self._backend.wait_for(function())
            return 1

        return measure(work, lambda: None, seconds=SECONDS).to_record()
