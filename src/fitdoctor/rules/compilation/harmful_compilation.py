"""# harmful-compilation (CO004)

## What it finds
The step is slower with `jit_compile=True` than without.

## Why it is slow
On a CPU, XLA's convolutions are slower than TensorFlow's own kernels; torch.compile takes tens of
seconds and rarely gains on small models.

## Evidence
On the frozen batch the same step without jit is faster, by enough to make training at least
${WORTH_GAIN:gain} faster.

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
On JAX: without jit every op starts separately.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.step import WithoutJit
from fitdoctor.findings.edits import SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import place_of
from fitdoctor.pricing.model_change import saved_by_change
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at
from fitdoctor.units import duration


class HarmfulCompilation(Rule):
    summary = "jit_compile makes the step slower"
    safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The step without jit is faster."""
        left = view.left_by(WithoutJit)
        if left is None or view.frozen is None or view.backend == "jax" or left.high >= 1.0:
            return None
        without = view.frozen.value * left.value
        # The last compile() of the model that was trained.
        model = view.recorded.detail.model_number
        calls = [event.detail for event in reversed(view.compile_calls) if event.detail.file]
        own = (one for one in calls if model is None or one.model == model)
        where = place_of(next(own, None))
        edits = at(where, SetKeyword, "compile", "jit_compile", "False")
        found = self.finding(
            view,
            f"with jit_compile a step takes {duration(view.frozen.value)}, without it "
            f"{duration(without)}",
            Cure(self.safety, 'jit_compile=False, or "auto"', edits),
            saves={"step": saved_by_change(view, left)},
            where=where,
            evidence={
                "jit_ns": round(view.frozen.value),
                "without_ns": round(without),
                "first_step_ns": round(view.costs.one_off_ns),
            },
            how="tried",
        )
        return found if found.gain.value >= WORTH_GAIN else None


RULE = HarmfulCompilation()
