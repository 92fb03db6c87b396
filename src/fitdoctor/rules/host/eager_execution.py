"""# eager-execution (HO004)

## What it finds
The training step runs op by op in Python instead of as one compiled function.

## Why it is slow
Each op crosses from Python into the framework and back. A small model has hundreds of them per
step, and nothing is fused. Usual causes: `run_eagerly=True` left from debugging, or a
`GradientTape` loop without `@tf.function`, or a JAX loop without `jax.jit`.

## Evidence
- `run_eagerly` is set, or the loop's body calls no compiled function;
- the same step compiled, tried on your own model and batch, is faster by 5 % or more.

## Predicted gain
The measured compiled step in place of the eager one. For a loop body without a function of its
own, a stand-in step (forward, backward, update of the same model on the same batch) is compiled;
the interval is then wider.

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
`run_eagerly` off: bit for bit the same on TensorFlow; rounding may differ on JAX. A step of your
own is safe where some steps of it, compiled, left the very same weights as op by op: a graph may
be rewritten, and draws its random numbers from other states. Python side effects inside the step
(prints, appends) run only while tracing: a function with them is not decorated. Numbers that it
only returns (`.numpy()`, `float()`) are read by a function around it.

## When not to
On torch Keras always runs eagerly; that is not a fault of the script.
"""

from __future__ import annotations

from typing import Any

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import JAX, TENSORFLOW, Decorate, DropKeyword, DropSetting, Edit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain, saved_leaving
from fitdoctor.rules.support.places import compile_place
from fitdoctor.units import duration

PAGE = __doc__ or ""

# The compiled step must be this much faster; less may be noise of the trial.
CLEARLY_FASTER = 1.1
# A stand-in step leaves out the user's own loss, metrics and bookkeeping.
STAND_IN = Interval(1.25, 1.0, 1.7)


class EagerExecution:
    """HO004."""

    code = "HO004"
    name = "eager-execution"
    summary = "the training step runs op by op in Python instead of compiled"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """An eager step, and the same step compiled in a trial."""
        return self._fit(view) or self._switched_loop(view) or self._loop(view)

    def _fit(self, view: View) -> Finding | None:
        compiled = view.probe_ns("graph_trial")
        if compiled is None or view.frozen is None:
            return None
        if compiled.value * CLEARLY_FASTER > view.frozen.value:
            return None
        recorded = view.recorded
        data = view.result("graph_trial") or {}
        own = Where(recorded.file, recorded.line or 0) if recorded.file else None
        switch = data.get("switch")
        return self._finding(
            view,
            view.frozen,
            compiled,
            _switched_at(data) or own,
            f"{switch} is set" if switch else "run_eagerly is set",
            _off(switch) if switch else "remove run_eagerly=True from compile()",
            left=_in_keras_loop(view, compiled),
            edits=_switched_off(data) if switch else _not_eager(view),
        )

    def _switched_loop(self, view: View) -> Finding | None:
        """All functions of the process run eagerly; the loop itself was seen with them compiled."""
        data = view.result("compiled_loop")
        compiled = from_windows(data["ns"]) if data else None
        if data is None or compiled is None:
            return None
        eager = self._eager_body(view, {})
        if eager is None or compiled.value * CLEARLY_FASTER > eager.value:
            return None
        where = _switched_at(data) or place_of(view.recorded)
        switch = str(data["switch"])
        return self._finding(
            view,
            eager,
            compiled,
            where,
            f"{switch} is set",
            _off(switch),
            edits=_switched_off(data),
        )

    def _loop(self, view: View) -> Finding | None:
        data = view.result("compiled_step")
        if view.recorded.kind != "loop" or data is None:
            return None
        compiled = from_windows(data["ns"])
        stands_in = data.get("stands_for") == "reference"
        eager = self._eager_body(view, data)
        if compiled is None or eager is None:
            return None
        if compiled.value * CLEARLY_FASTER > eager.value:
            return None
        if stands_in:
            compiled = Interval(
                compiled.value * STAND_IN.value,
                compiled.low * STAND_IN.low,
                compiled.high * STAND_IN.high,
            )
        recorded = view.recorded
        where = place_of(recorded)
        if data.get("file"):
            where = Where(str(data["file"]), int(data["line"]))
        decorator = "@jax.jit" if view.backend == "jax" else "@tf.function"
        cure = (
            f"put the loop's body into a function with {decorator}"
            if stands_in
            else f"decorate {data.get('function')} with {decorator}"
            + ("; numbers of tensors have to be read outside" if data.get("numbers_read") else "")
        )
        return self._finding(
            view,
            eager,
            compiled,
            where,
            "the loop's body calls no compiled function",
            cure,
            edits=() if stands_in else _decorated(view, data),
            same=bool((view.result("compiled_agrees") or {}).get("same")),
        )

    @staticmethod
    def _eager_body(view: View, data: dict[str, object]) -> Interval | None:
        """The eager step timed in the same trial, or the loop's whole body."""
        eager = data.get("eager")
        if isinstance(eager, dict):
            return from_windows(eager["ns"])
        if view.frozen is not None:
            return view.frozen
        return Interval.around(view.costs.parts["step"], 0.05)

    def _finding(
        self,
        view: View,
        eager: Interval,
        compiled: Interval,
        where: Where | None,
        cause: str,
        cure: str,
        left: Interval | None = None,
        edits: tuple[Edit, ...] = (),
        same: bool = True,
    ) -> Finding:
        if left is None:
            # The ratio of one trial, not its times: the machine may have been slower before.
            ratio = compiled.divided_by(eager)
            step = min(max(view.costs.parts["step"], eager.value), view.costs.total.value)
            left = ratio.scaled(step) + Interval.exact(view.costs.total.value - step)
        saved = saved_leaving(view.costs.total, left)
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"{cause}: a step takes {duration(eager.value)} op by op, "
                f"{duration(compiled.value)} compiled"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure("safe" if same and view.backend == "tensorflow" else "unsafe", cure, edits),
            evidence={
                "eager_ns": round(eager.value),
                "compiled_ns": round(compiled.value),
            },
            saves={"step": saved},
        )


def _switched_at(data: dict[str, Any]) -> Where | None:
    return Where(str(data["file"]), int(data["line"])) if data.get("file") else None


def _switched_off(data: dict[str, Any]) -> tuple[Edit, ...]:
    where = _switched_at(data)
    name = str(data["switch"]).partition("(")[0].split(".")[-1]
    return (DropSetting(where, (name,)),) if where is not None else ()


def _off(switch: str) -> str:
    return f"remove {switch}: functions compile again"


def _not_eager(view: View) -> tuple[Edit, ...]:
    where = compile_place(view)
    return (DropKeyword(where, "compile", "run_eagerly"),) if where is not None else ()


def _decorated(view: View, data: dict[str, object]) -> tuple[Edit, ...]:
    if not data.get("file") or not data.get("function"):
        return ()
    where = Where(str(data["file"]), int(str(data["line"])))
    jax = view.backend == "jax"
    decorator, imports = ("jax.jit", JAX) if jax else ("tf.function", TENSORFLOW)
    return (Decorate(where, str(data["function"]), decorator, (imports,)),)


def _in_keras_loop(view: View, compiled: Interval) -> Interval:
    """The compiled step with Keras's loop around it and the loading of a batch."""
    data = view.result("graph_trial") or {}
    in_loop = from_windows(data["in_loop"]["ns"]) if data.get("in_loop") else None
    if in_loop is None:
        in_loop = compiled
    if view.loader is not None:
        loading = view.loader.ns
    else:
        loading = Interval.exact(view.costs.parts.get("input_wait", 0.0))
    return in_loop + loading


RULE = EagerExecution()
