"""# harmful-compilation (CO004)

## What it finds
`jit_compile=True` makes the step slower than it is without.

## Why it is slow
On a CPU, XLA's convolutions are slower than TensorFlow's own kernels; torch.compile takes tens of
seconds and seldom gains on small models.

## Evidence
The same step without jit, on the frozen batch, is at least 10 % faster.

## Predicted gain
The step as measured without jit.

## Example
```python
model.compile("adam", "mse", jit_compile=True)
```

## Use instead
```python
model.compile("adam", "mse")                    # "auto" knows where jit helps
```

## Fix safety
The same arithmetic with other rounding: unsafe.

## When not to
On JAX: without jit every op is started by itself.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.model_change import saved_by_change
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.10


class HarmfulCompilation:
    """CO004."""

    code = "CO004"
    name = "harmful-compilation"
    summary = "jit_compile makes the step slower"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The step without jit is faster."""
        left = view.left_by("jit_off")
        if left is None or view.frozen is None or view.backend == "jax" or left.high >= 1.0:
            return None
        without = view.frozen.value * left.value
        saved = saved_by_change(view, left)
        priced = gain(view.costs.total, saved)
        if priced.value < WORTH_GAIN:
            return None
        where, edits = _place(view)
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"with jit_compile a step takes {duration(view.frozen.value)}, without it "
                f"{duration(without)}"
            ),
            gain=priced,
            cure=Cure(self.safety, 'jit_compile=False, or "auto"', edits),
            evidence={
                "jit_ns": round(view.frozen.value),
                "without_ns": round(without),
                "first_step_ns": round(view.costs.one_off_ns),
            },
            saves={"step": saved},
        )


def _place(view: View) -> tuple[Where | None, tuple[SetKeyword, ...]]:
    """The last compile() of the model that was trained."""
    model = view.recorded.detail.get("model_number")
    for event in reversed(view.compile_calls):
        detail = event.detail
        if detail.get("file") and (model is None or detail.get("model") == model):
            where = Where(str(detail["file"]), int(detail["line"]))
            return where, (SetKeyword(where, "compile", "jit_compile", "False"),)
    recorded = view.recorded
    return (Where(recorded.file, recorded.line or 0) if recorded.file else None), ()


RULE = HarmfulCompilation()
