"""When a workload has been seen enough: time, steps, and what is still to be examined."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fitdoctor.contract.limits import GROUP_CALLS, NS_PER_S
from fitdoctor.inside.ledger.loop_watch import Loop
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.inside.ledger.running_call import Call
from fitdoctor.inside.ledger.workload import Workload

# A window is full when it is long enough to judge: many steps soon, few steps later.
ENOUGH = ((8 * NS_PER_S, 150), (15 * NS_PER_S, 30))
# After this share of the budget a line is examined with whatever steps it has; the rest of the
# budget is for other lines of the script, and for training whose first step compiles for long.
RECORDING_SHARE = 0.5
FEW_STEPS = 12
SHARE_FOR_FEW_STEPS = 0.8
FEWEST_ITERATIONS = 3
# A call is worth examining at its end when it, or its line so far, took this long.
WORTH_CALL_NS = 1 * NS_PER_S
WORTH_LINE_NS = 2 * NS_PER_S
WORTH_SWEEP_NS = NS_PER_S // 10
# Repeated calls are recorded this long before the script is ended.
GROUP_WINDOW_NS = 15 * NS_PER_S
# Lines with less of the time than this are not waited for.
HEAVY_SHARE = 0.1


class Budget:
    """The seconds of training that a recording may take, on the recorder's clock."""

    def __init__(self, recorder: Recorder, seconds: float) -> None:
        """`seconds` for all lines of the script together."""
        self._recorder = recorder
        self._budget_ns = int(seconds * NS_PER_S)
        self.recording_ns = int(RECORDING_SHARE * self._budget_ns)
        self._examining_ns = 0

    @contextmanager
    def examining(self) -> Iterator[None]:
        """What happens meanwhile takes nothing of the budget."""
        begin = self._recorder.clock()
        try:
            yield
        finally:
            self._examining_ns += self._recorder.clock() - begin

    def elapsed_ns(self) -> int:
        """Nanoseconds of the script's own since its first step: examining is no training."""
        first = self._recorder.first_step_ns
        return 0 if first is None else self._recorder.clock() - first - self._examining_ns

    def is_spent(self) -> bool:
        """Whether to end; lines that take long and were not examined are waited for."""
        is_done = self._all_heavy_are_examined()
        return self.elapsed_ns() >= (self.recording_ns if is_done else self._budget_ns)

    def is_over(self) -> bool:
        """Whether nothing of it is left."""
        return self.elapsed_ns() >= self._budget_ns

    def fit_is_full(self, call: Call) -> bool:
        """Whether a running fit was seen enough."""
        if call.first_step is None:
            return False
        share = RECORDING_SHARE if call.steps >= FEW_STEPS else SHARE_FOR_FEW_STEPS
        if self.elapsed_ns() >= share * self._budget_ns:
            return True
        # Validation and epoch callbacks are part of the cost: see one round of them.
        if call.epochs < 2 and call.arguments.get("validation_data") is not None:
            return False
        return _is_enough(call.workload)

    def loop_is_full(self, loop: Loop) -> bool:
        """Whether a hand-written loop was seen enough."""
        first = loop.workload.first_ns
        if first is None:
            return False
        is_long = self._recorder.clock() - first >= self.recording_ns
        if is_long and loop.iterations >= FEWEST_ITERATIONS:
            return True
        return _is_enough(loop.workload)

    def group_is_full(self, workload: Workload) -> bool:
        """Whether repeated calls were recorded long enough after their examination."""
        if workload.first_ns is None or not workload.probed or workload.calls < GROUP_CALLS:
            return False
        took = self._recorder.clock() - workload.first_ns
        return took >= GROUP_WINDOW_NS and self._all_heavy_are_examined()

    def is_worth(self, call: Call) -> bool:
        """Whether a call that has ended took long enough to be examined."""
        if call.workload.total_ns >= WORTH_LINE_NS:
            return call.workload.calls >= GROUP_CALLS or call.kind == "fit"
        return call.kind == "fit" and self._recorder.clock() - call.begin >= WORTH_CALL_NS

    def is_worth_sweep(self, call: Call) -> bool:
        """A sweep brings steps of its own: a fit that is over in a moment will do."""
        return call.kind == "fit" and self._recorder.clock() - call.begin >= WORTH_SWEEP_NS

    def _all_heavy_are_examined(self) -> bool:
        workloads = self._recorder.workloads.values()
        total = sum(one.total_ns for one in workloads)
        return all(one.probed or one.total_ns < HEAVY_SHARE * total for one in workloads)


def _is_enough(workload: Workload) -> bool:
    """Only steps that no other process disturbed count towards a full window."""
    return any(workload.clean_ns >= ns and workload.clean_steps >= n for ns, n in ENOUGH)
