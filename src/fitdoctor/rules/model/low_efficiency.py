"""# low-efficiency (MO009)

## What it finds
The step takes far longer than its arithmetic needs on this machine, and no rule knows a special
reason: it is made of very many small operations, or of a layer of your own that computes slowly.

## Why it is slow
Every operation has a start: a few microseconds on a CPU, more when it is called from Python. Where
the operation itself takes no longer than that, the machine mostly starts work. A layer that
computes on single rows or positions, or builds large intermediate arrays, has the same effect.

## Evidence
- the framework's own profiler divided some steps into operations and layers; the machine's best
  rates were measured (`fitdoctor machine`);
- at least ${WORTH_SHARE:percent} of the training is time of these steps above what they need:
  starting operations (their number times the best time to start one), or layers that are no kernels
  of the framework and reach less than ${FAR_BELOW:percent} of the machine's rate;
- Keras's own layers count as what they need, except for recurrent ones and grouped convolutions:
  the framework has no faster kernel for them;
- or: checks of every operation were left on (anomaly mode of torch, NaN checks of JAX or
  TensorFlow), and with them off, in turns, the step was ${WORTH_CHANGE:gain} faster or more.

## Predicted gain
Where the checks were tried off, or XLA on, and that is faster: the measured step. Otherwise a
bound: the step if that time were not there. What of it can be had is not known; the message says
what was tried.

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
Checks off: the same arithmetic (safe). `jit_compile=True` where it was tried: other rounding
(unsafe). Otherwise advice.

## When not to
The operations are as large as the model allows: a larger batch is all that is left (HO002).
"""

from __future__ import annotations

from dataclasses import dataclass

from fitdoctor.analysis.leaves import Leaf, leaves_of
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import MachineCeiling
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.contract.evidence.step import WithJit, WithoutChecks
from fitdoctor.findings.edits import DropSetting, Edit, SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, compile_place
from fitdoctor.units import duration, percent

# Time above what is needed must be this share of the training to be worth a finding.
WORTH_SHARE = 0.3
# A layer of the user's own that reaches more than this of the machine's rate is well written.
FAR_BELOW = 0.1


@dataclass(frozen=True)
class Excess:
    """Time of a step above what it needs."""

    starting_ns: float
    slow_layers: tuple[Leaf, ...]

    @property
    def layers_ns(self) -> float:
        return sum(one.ns - (one.floor_ns or 0.0) for one in self.slow_layers)

    @property
    def ns(self) -> float:
        """Operations of slow layers are started too: the larger of the two counts once."""
        return max(self.starting_ns, self.layers_ns)


class LowEfficiency(Rule):
    summary = "the step takes far longer than its arithmetic needs"
    safety = "advice"
    # Each of these is a special reason for the same time.
    explained_by = frozenset(
        {
            *("HO001", "HO002", "HO004", "CO001", "CO002", "CO004", "EN002", "EN003"),
            *("MO001", "MO002", "MO003", "MO004", "MO005", "MO006", "MO007"),
        }
    )

    def detect(self, view: View) -> Finding | None:
        """Checks left on; many small operations, or slow layers, in a step of its own."""
        return self._checked(view) or self._slow(view)

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

    def _slow(self, view: View) -> Finding | None:
        seen = view.found(Operations)
        if seen is None or view.frozen is None or view.is_group:
            return None
        jit = tried_change(view, view.left_by(WithJit), WORTH_CHANGE)
        excess = excess_of(view, seen)
        total = view.costs.total
        if excess.ns < WORTH_SHARE * total.value:
            return None
        message = _message(view, seen, excess)
        evidence = {
            "operations": round(seen.count),
            "starting_ns": round(excess.starting_ns),
            "slow_layers_ns": round(excess.layers_ns),
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
            Cure(self.safety, _advice(excess)),
            saves={"step": saved},
            where=_where(excess),
            evidence=evidence,
            how="bound",
        )


def _names_of(switch: str) -> tuple[str, ...]:
    """What a statement that makes the setting is known by."""
    quoted = switch.split('"')
    return (quoted[1],) if len(quoted) > 1 else (switch.partition("(")[0].split(".")[-1],)


def excess_of(view: View, seen: Operations) -> Excess:
    """What the step takes beyond its needs."""
    step = view.parts.get("step", 0.0)
    inside = min(step, view.frozen.value) if view.frozen is not None else step
    ceiling = view.found(MachineCeiling)
    start = ceiling.op_start_ns if ceiling is not None and ceiling.op_start_ns else 0.0
    leaves = leaves_of(view, {"step": inside}) if inside > 0 else ()
    slow = tuple(one for one in leaves if _is_slow(one))
    return Excess(min(inside, seen.count * start), slow)


def _is_slow(leaf: Leaf) -> bool:
    if leaf.is_kernel or leaf.layer is None or leaf.floor_ns is None:
        return False
    return leaf.floor_ns < FAR_BELOW * leaf.ns


def _message(view: View, seen: Operations, excess: Excess) -> str:
    step = duration(view.frozen.value) if view.frozen is not None else "a step"
    if excess.layers_ns > excess.starting_ns:
        slow = max(excess.slow_layers, key=lambda one: one.ns)
        rate = (slow.floor_ns or 0.0) / max(1.0, slow.ns)
        return (
            f"{slow.what} takes {duration(slow.ns)} of a step of {step}, at {percent(rate)} of "
            "the machine's rate"
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
    return f"; tried without gain: {', '.join(tried)}" if tried else ""


def _advice(excess: Excess) -> str:
    if excess.layers_ns > excess.starting_ns:
        return "write it with operations on the whole batch, without loops over rows or positions"
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
