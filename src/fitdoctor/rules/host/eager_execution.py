"""# eager-execution (HO004)

## What it finds
The training step runs op by op in Python instead of as one compiled function.

## Why it is slow
Each op crosses from Python into the framework and back. A small model has hundreds of them per
step, and nothing is fused. Usual causes: `run_eagerly=True` left from debugging, on JAX
`jit_compile=False`, a `GradientTape` loop without `@tf.function`, a JAX loop without `jax.jit`.

## Evidence
- `run_eagerly` is set (on JAX also: jit is off), or the loop's body calls no compiled function;
- the same step compiled, tried on your own model and batch, is faster by
  ${CLEARLY_FASTER:gain} or more;
- or: the loop's body calls a compiled function, and operations of the framework around it take
  ${AROUND_SHARE:percent} of the time or more, sampled while the loop trained.

## Predicted gain
The measured compiled step in place of the eager one. If the loop body has no step function, a
stand-in step is compiled (forward, backward, update of the same model on the same batch). The
interval is then wider. For operations around a compiled function a bound: the loop without them.

## Example
```python
model.compile("adam", "mse", run_eagerly=True)
```
```python
for x, y in dataset:
    with tf.GradientTape() as tape:
        loss = loss_function(y, model(x, training=True))
    ...
```

## Use instead
```python
model.compile("adam", "mse")
```
```python
@tf.function
def train_step(x, y):
    ...
```

## Fix safety
`run_eagerly` off: bit for bit the same on TensorFlow; rounding may differ on JAX. Your own step is
safe if some compiled steps left exactly the same weights as op by op: the framework may rewrite a
graph, and a graph draws its random numbers from other states. Python side effects inside the step
(prints, appends) run only while tracing, so a function with them is not decorated. If it only
returns numbers (`.numpy()`, `float()`), a function around it reads them.

## When not to
On torch, Keras always runs eagerly. That is not a fault of the script.
"""

from __future__ import annotations

from collections.abc import Sequence

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.analysis.watched_loop import loop_lines
from fitdoctor.contract.evidence.loop import (
    CompiledAgrees,
    CompiledLoop,
    CompiledStep,
    RepeatedCall,
)
from fitdoctor.contract.evidence.step import CompiledFit
from fitdoctor.findings.edits import JAX, TENSORFLOW, Decorate, DropKeyword, DropSetting, Edit
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import saved_leaving
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, compile_place
from fitdoctor.units import duration

# The compiled step must be this much faster; less may be noise of the trial.
CLEARLY_FASTER = 1.1
# A stand-in step leaves out the user's own loss, metrics and bookkeeping.
STAND_IN = Interval(1.25, 1.0, 1.7)
# Operations around the compiled function must take this share of the time.
AROUND_SHARE = 0.3
# A loader that is begun for every step, values that are read, code of the user's own.
AROUND_EXPLAINED_BY = frozenset({"HO003", "HO005", "HO006", "CB002"})
# How well the ledger alone knows the body of a loop.
BODY_ERROR = 0.05


class EagerExecution(Rule):
    summary = "the training step runs op by op in Python instead of compiled"
    safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """An eager step, and the same step compiled in a trial."""
        return (
            self._fit(view)
            or self._switched_loop(view)
            or self._loop(view)
            or self._beside_the_step(view)
        )

    def _beside_the_step(self, view: View) -> Finding | None:
        """Operations of the framework around a compiled function, one by one from Python."""
        watched, total = loop_lines(view.recorded), view.costs.total
        is_compiled = view.recorded.kind == "loop" and view.found(RepeatedCall) is not None
        if watched is None or view.frozen is None or not is_compiled or view.backend == "torch":
            return None
        in_framework = watched.step * total.value
        spent = in_framework - view.frozen.value
        if view.backend == "jax":  # which computes meanwhile
            spent = min(in_framework, total.value - view.frozen.value)
        if spent < AROUND_SHARE * total.value:
            return None
        lines = watched.lines("step")
        where = Where(*lines[0][0][:2]) if lines else None
        return self.finding(
            view,
            f"operations outside of the compiled function are started one by one from Python: "
            f"{duration(spent)} of {duration(total.value)} per step, {duration(view.frozen.value)} "
            "in the function itself",
            Cure("advice", _whole_step(view)),
            saves={"step": Interval(spent, 0.0, spent)},
            where=where,
            evidence={
                "outside_ns": round(spent),
                "compiled_ns": round(view.frozen.value),
                "samples": watched.samples,
            },
            how="bound",
        )

    def _fit(self, view: View) -> Finding | None:
        trial, compiled = view.found(CompiledFit), view.timed(CompiledFit)
        if trial is None or compiled is None or view.frozen is None:
            return None
        if compiled.value * CLEARLY_FASTER > view.frozen.value:
            return None
        cause, cure, edits = _of_fit(view, trial)
        return self._priced(
            view,
            view.frozen,
            compiled,
            cause,
            cure,
            where=place_of(trial),
            left=_in_keras_loop(view, trial, compiled),
            edits=edits,
        )

    def is_explained(
        self, finding: Finding, others: Sequence[Finding], kept: Sequence[Finding]
    ) -> bool:
        """What is seen around a compiled function may have a reason of its own."""
        if finding.how == "bound" and any(one.rule in AROUND_EXPLAINED_BY for one in kept):
            return True
        return super().is_explained(finding, others, kept)

    def _switched_loop(self, view: View) -> Finding | None:
        """All functions of the process run eagerly; the loop itself was seen with them compiled."""
        trial, compiled = view.found(CompiledLoop), view.timed(CompiledLoop)
        if trial is None or compiled is None:
            return None
        eager = _eager_body(view)
        if compiled.value * CLEARLY_FASTER > eager.value:
            return None
        return self._priced(
            view,
            eager,
            compiled,
            f"{trial.switch} is set",
            _off(trial.switch),
            where=place_of(trial),
            edits=_switched_off(trial),
        )

    def _loop(self, view: View) -> Finding | None:
        trial, compiled = view.found(CompiledStep), view.timed(CompiledStep)
        if view.recorded.kind != "loop" or trial is None or compiled is None:
            return None
        # The eager step timed in the same trial, where there was one.
        eager = from_windows(trial.eager.ns) if trial.eager else _eager_body(view)
        if eager is None or compiled.value * CLEARLY_FASTER > eager.value:
            return None
        stands_in = trial.stands_for == "reference"
        if stands_in:
            compiled = compiled.times(STAND_IN)
        agrees = view.found(CompiledAgrees)
        return self._priced(
            view,
            eager,
            compiled,
            "only a part of the loop's step is compiled"
            if view.found(RepeatedCall) is not None
            else "the loop's body calls no compiled function",
            _compile_it(view, trial, stands_in=stands_in),
            where=place_of(trial),
            edits=() if stands_in else _decorated(view, trial),
            same=agrees is not None and agrees.same,
        )

    def _priced(
        self,
        view: View,
        eager: Interval,
        compiled: Interval,
        cause: str,
        cure: str,
        *,
        where: Where | None,
        left: Interval | None = None,
        edits: tuple[Edit, ...] = (),
        same: bool = True,
    ) -> Finding:
        if left is None:
            # The ratio of one trial, not its times: the machine may have been slower before.
            ratio = compiled.divided_by(eager)
            step = min(max(view.costs.parts["step"], eager.value), view.costs.total.value)
            left = ratio.scaled(step) + Interval.exact(view.costs.total.value - step)
        return self.finding(
            view,
            f"{cause}: a step takes {duration(eager.value)} op by op, "
            f"{duration(compiled.value)} compiled",
            Cure("safe" if same and view.backend == "tensorflow" else "unsafe", cure, edits),
            saves={"step": saved_leaving(view.costs.total, left)},
            where=where,
            evidence={"eager_ns": round(eager.value), "compiled_ns": round(compiled.value)},
            how="tried",
        )


def _whole_step(view: View) -> str:
    decorator = "@jax.jit" if view.backend == "jax" else "@tf.function"
    return f"put the whole step (loss, gradients, update) into one function with {decorator}"


def _of_fit(view: View, trial: CompiledFit) -> tuple[str, str, tuple[Edit, ...]]:
    """What makes the step of a fit run op by op, and the cure."""
    if trial.switch:
        return f"{trial.switch} is set", _off(trial.switch), _switched_off(trial)
    if trial.without_jit:
        layers = " and ".join(trial.without_jit)
        return (
            f"{layers} does not support jit, so Keras runs the whole step op by op",
            f"move {layers} out of the model, into the input pipeline",
            (),
        )
    argument = _argument(view)
    edits = at(compile_place(view), DropKeyword, "compile", argument.partition("=")[0])
    return f"{argument} is set", f"remove {argument} from compile()", edits


def _argument(view: View) -> str:
    """What in compile() makes the step run op by op."""
    detail = view.recorded.detail
    without_jit = view.backend == "jax" and detail.jit_compile is False and not detail.run_eagerly
    return "jit_compile=False" if without_jit else "run_eagerly=True"


def _eager_body(view: View) -> Interval:
    """The eager step on a frozen batch, or the loop's whole body."""
    return view.frozen or Interval.around(view.costs.parts["step"], BODY_ERROR)


def _switched_off(trial: CompiledFit | CompiledLoop) -> tuple[Edit, ...]:
    name = (trial.switch or "").partition("(")[0].split(".")[-1]
    return at(place_of(trial), DropSetting, (name,))


def _off(switch: str) -> str:
    return f"remove {switch}: functions compile again"


def _compile_it(view: View, trial: CompiledStep, *, stands_in: bool) -> str:
    decorator = "@jax.jit" if view.backend == "jax" else "@tf.function"
    if stands_in:
        return f"put the loop's body into a function with {decorator}"
    outside = "; numbers of tensors have to be read outside" if trial.numbers_read else ""
    return f"decorate {trial.function} with {decorator}{outside}"


def _decorated(view: View, trial: CompiledStep) -> tuple[Edit, ...]:
    if not trial.function:
        return ()
    jax = view.backend == "jax"
    decorator, imports = ("jax.jit", JAX) if jax else ("tf.function", TENSORFLOW)
    return at(place_of(trial), Decorate, trial.function, decorator, (imports,))


def _in_keras_loop(view: View, trial: CompiledFit, compiled: Interval) -> Interval:
    """The compiled step with Keras's loop around it and the loading of a batch."""
    in_loop = from_windows(trial.in_loop.ns) or compiled
    if view.loader is not None:
        return in_loop + view.loader.ns
    return in_loop + Interval.exact(view.costs.parts.get("input_wait", 0.0))


RULE = EagerExecution()
