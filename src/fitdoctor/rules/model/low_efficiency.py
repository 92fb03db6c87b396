"""# low-efficiency (MO009)

## What it finds
The step takes far longer than its arithmetic needs on this machine, and no other rule names a
reason: it has very many small operations, or your own layer computes slowly.

## Why it is slow
Starting an operation takes a few microseconds on a CPU, and more from Python. If the operation
itself takes no longer, the machine mostly starts work. A layer that
computes on single rows or positions, or builds large intermediate arrays, has the same effect.

## Evidence
- the framework's own profiler divided some steps into operations and layers; the machine's best
  rates were measured (`fitdoctor machine`);
- at least ${WORTH_SHARE:percent} of the training is step time above the need: starting operations
  (their number times the best time to start one), or layers that are not framework kernels and
  reach less than ${FAR_BELOW:percent} of the machine's rate, or layers called ${ROW_BY_ROW} times
  or more in one step, or matrix decompositions and sorting outside of layers;
- on a GPU: kernels that take little more than their start, and the gaps between kernels, are
  ${BINDS_ON_GPU:percent} of the training or more, however busy the GPU looks;
- Keras's own layers count as what they need, except for recurrent ones and grouped convolutions:
  the framework has no faster kernel for them;
- or: the backward pass runs through layers ${SURELY_SEVERAL} times or more per forward pass,
  counted by their matrix products and convolutions;
- or: on torch, weights get gradients that no optimizer of the loop uses, and without these, in
  turns, an iteration was ${WORTH_CHANGE:gain} faster or more;
- or: the step with a plain loss (the mean square of its outputs) was faster than with yours, by
  ${WORTH_SHARE:percent} of the training or more, not counting ${PASSES} passes over the outputs;
- or: checks of every operation were left on (anomaly mode of torch, NaN checks of JAX or
  TensorFlow), and with them off, in turns, the step was ${WORTH_CHANGE:gain} faster or more.

## Predicted gain
If the step was tried with the checks or the idle gradients off, or with XLA on, and is faster: the
measured step. For gradients that are taken several times: the step with one pass (modelled).
Otherwise a bound: the step without that time. We do not know how much of it can be saved; the
message says what was tried.

## Example
```python
class PerPosition(keras.layers.Layer):
    def call(self, x):
        return keras.ops.stack([self.dense(x[:, t]) for t in range(x.shape[1])], axis=1)
```

## Use instead
```python
        return self.dense(x)                    # all positions in one operation
```

## Fix safety
Checks off, or unused gradients off: the same arithmetic (safe). `jit_compile=True` if it was tried:
other rounding (unsafe). Otherwise advice.

## When not to
The operations are as large as the model allows: only a larger batch is left (HO002).
"""

from __future__ import annotations

from collections.abc import Sequence

from fitdoctor.analysis import (
    excess as excess_of_step,
    gradient_passes as passes_of_step,
    own_loss as loss_of_step,
)
from fitdoctor.analysis.excess import Excess, excess_of
from fitdoctor.analysis.own_loss import own_loss
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.evidence.step import StepsPerExecution, WithJit, WithoutChecks
from fitdoctor.findings.edits import DropSetting, Edit, SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.pricing.steps_together import FEW_TOGETHER, MANY_TOGETHER
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.needless_gradients import needless_gradients
from fitdoctor.rules.support.places import at, compile_place
from fitdoctor.units import duration, percent

# Time above what is needed must be this share of the training to be worth a finding.
WORTH_SHARE = 0.3
# A GPU waits a little between any two kernels: starting them has to be what binds the step.
BINDS_ON_GPU = 0.5


class LowEfficiency(Rule):
    summary = "the step takes far longer than its arithmetic needs"
    safety = "advice"
    numbers_from = (excess_of_step, passes_of_step, loss_of_step)
    # Each of these is a special reason for the same time.
    explained_by = frozenset(
        {
            *("HO001", "HO002", "HO004", "CO001", "CO002", "CO004", "EN002", "EN003"),
            *("MO001", "MO002", "MO003", "MO004", "MO005", "MO006", "MO007", "MO010"),
        }
    )

    def detect(self, view: View) -> Finding | None:
        """Checks left on, a costly loss, or many small operations and slow layers in the step."""
        return (
            self._checked(view)
            or needless_gradients(self, view)
            or self._costly_loss(view)
            or self._slow(view)
        )

    def is_explained(
        self, finding: Finding, others: Sequence[Finding], kept: Sequence[Finding]
    ) -> bool:
        """What was seen for itself gives way only to what gains more."""
        return super().is_explained(finding, others if finding.how == "bound" else kept, kept)

    def _checked(self, view: View) -> Finding | None:
        """Every operation is checked for the sake of debugging."""
        trial = view.found(WithoutChecks)
        tried = tried_change(view, view.left_by(WithoutChecks), WORTH_CHANGE)
        if trial is None or tried is None:
            return None
        place = place_of(trial)
        return self.finding(
            view,
            f"{trial.switch} checks every operation: "
            + tried.in_words("with these checks", "without them"),
            Cure(
                "safe",
                f"remove {trial.switch}: it is for debugging",
                at(place, DropSetting, _names_of(trial.switch)),
            ),
            saves=tried.saves,
            where=place,
            evidence=tried.evidence("unchecked_ns"),
            how="tried",
        )

    def _costly_loss(self, view: View) -> Finding | None:
        """The user's own loss takes much more than its outputs need."""
        loss, total = own_loss(view), view.costs.total
        if loss is None or view.frozen is None or loss.excess_ns < WORTH_SHARE * total.value:
            return None
        saved = Interval(loss.excess_ns, 0.0, loss.excess_ns)
        if gain(total, saved).value < WORTH_CHANGE:
            return None
        return self.finding(
            view,
            f"your loss {loss.took.function} takes {duration(loss.ns)} of a step of "
            f"{duration(view.frozen.value)}, forward and back; its outputs need about "
            f"{duration(loss.needed_ns)}",
            Cure(
                self.safety,
                "look for large intermediate arrays and loops in this loss: pairs by a matrix "
                "product instead of differences of all with all, whole arrays instead of rows",
            ),
            saves={"step": saved},
            where=place_of(loss.took),
            evidence={"loss_ns": round(loss.ns), "needed_ns": round(loss.needed_ns)},
            how="bound",
        )

    def _slow(self, view: View) -> Finding | None:
        seen = view.found(Operations)
        if seen is None or view.frozen is None or view.is_group:
            return None
        jit = tried_change(view, view.left_by(WithJit), WORTH_CHANGE)
        excess = excess_of(view, seen)
        total = view.costs.total
        least = BINDS_ON_GPU if seen.on_device else WORTH_SHARE
        if excess.ns < least * total.value:
            return None
        message = _message(view, seen, excess)
        evidence = {
            "operations": round(seen.count),
            "starting_ns": round(excess.starting_ns),
            "slow_layers_ns": round(excess.layers_ns),
            "decompositions_ns": round(excess.decompositions_ns),
            "step_ns": round(view.frozen.value),
        }
        if jit is not None:
            return self.finding(
                view,
                f"{message}; compiled by XLA it takes {duration(jit.after.value)}",
                Cure("unsafe", "compile(..., jit_compile=True)", _with_jit(view)),
                saves=jit.saves,
                evidence={**evidence, "jit_ns": round(jit.after.value)},
                how="tried",
            )
        saved = Interval(excess.ns, 0.0, excess.ns)
        if gain(total, saved).value < WORTH_CHANGE:
            return None
        return self.finding(
            view,
            message + _what_was_tried(view),
            Cure(self.safety, _advice(view, seen, excess)),
            saves={"step": saved},
            where=_where(excess),
            evidence=evidence,
            how="bound",
        )


def _names_of(switch: str) -> tuple[str, ...]:
    """What a statement that makes the setting is known by."""
    quoted = switch.split('"')
    return (quoted[1],) if len(quoted) > 1 else (switch.partition("(")[0].split(".")[-1],)


def _message(view: View, seen: Operations, excess: Excess) -> str:
    alone = view.frozen.value if view.frozen is not None else 0.0
    step = duration(view.costs.parts.get("step", alone) if seen.in_loop else alone)
    if excess.ns == excess.decompositions_ns:
        top = max(excess.decompositions, key=lambda one: one.ns)
        return (
            f"{top.what}, takes {duration(top.ns)} of a step of {step}: a loss, a metric or your "
            "own step asks for it"
        )
    if excess.layers_ns > excess.starting_ns:
        slow = max(excess.slow_layers, key=lambda one: one.ns)
        if slow.floor_ns is None:
            return (
                f"{slow.what} is called {slow.calls} times in every step, and takes "
                f"{duration(slow.ns)} of {step}"
            )
        rate = (slow.floor_ns or 0.0) / max(1.0, slow.ns)
        return (
            f"{slow.what} takes {duration(slow.ns)} of a step of {step}, at {percent(rate)} of "
            "the machine's rate"
        )
    if seen.on_device:
        mean = seen.busy_ns / max(1.0, seen.count)
        return (
            f"launch-bound inside the step: {step} are {seen.count:,.0f} kernels on the GPU of "
            f"{duration(mean)} each; starting them takes {duration(excess.starting_ns)}"
        )
    return (
        f"a step of {step} is {seen.count:,.0f} operations; starting them alone takes "
        f"{duration(excess.starting_ns)}"
    )


def _what_was_tried(view: View) -> str:
    """So that nobody tries it again."""
    tried = []
    if view.found(WithJit) is not None:
        tried.append("jit_compile=True")
    if view.left_by_change("native_recurrence") is not None:
        tried.append("torch's own recurrent kernel")
    if view.left_by_change("fused") is not None:
        tried.append("no recurrent dropout")
    if view.left_by_change("default_activations") is not None:
        tried.append("the fused recurrence")
    together = [n for n in (FEW_TOGETHER, MANY_TOGETHER) if view.found(StepsPerExecution, str(n))]
    if together:
        tried.append(f"steps_per_execution={max(together)}")
    return f"; tried without gain: {', '.join(tried)}" if tried else ""


def _advice(view: View, seen: Operations, excess: Excess) -> str:
    if excess.ns == excess.decompositions_ns:
        return "do it every Nth step, or with something cheaper: a norm, a random draw, a sum"
    if excess.layers_ns > excess.starting_ns:
        return "write it with operations on the whole batch, without loops over rows or positions"
    if seen.on_device and view.backend == "torch":
        return (
            'torch.compile(model, mode="reduce-overhead"), which starts a step as one CUDA graph '
            "(not tried: it compiles for long), or a larger batch"
        )
    return "fewer, larger operations: a larger batch, whole sequences at once, a compiled step"


def _where(excess: Excess) -> Where | None:
    placed = [one for one in excess.slow_layers if one.where is not None]
    top = max(placed, key=lambda one: one.ns, default=None)
    return Where(top.where.file, top.where.line) if top is not None and top.where else None


def _with_jit(view: View) -> tuple[Edit, ...]:
    if view.recorded.kind != "fit":
        return ()
    return at(compile_place(view), SetKeyword, "compile", "jit_compile", "True")


RULE = LowEfficiency()
