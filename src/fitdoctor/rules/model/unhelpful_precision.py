"""# unhelpful-precision (MO005)

## What it finds
The model computes in float16 or bfloat16, and is slower for it.

## Why it is slow
Half precision pays where the hardware has units for it. A CPU emulates float16, and every layer
casts its inputs and weights.

## Evidence
The same step with every layer in float32, tried on the frozen batch, is at least 10 % faster.

## Predicted gain
The step as tried.

## Example
```python
keras.config.set_dtype_policy("mixed_float16")
```

## Use instead
```python
keras.config.set_dtype_policy("float32")
```

## Fix safety
Another precision: unsafe, though a more exact one.

## When not to
On a GPU with tensor cores and large layers: the trial then shows no gain.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import DropSetting, Edit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import ANYWHERE, place_of
from fitdoctor.pricing.model_change import priced_change
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.10
SETTERS = ("set_dtype_policy", "set_global_policy")


class UnhelpfulPrecision:
    """MO005."""

    code = "MO005"
    name = "unhelpful-precision"
    summary = "half precision makes the step slower here"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The same model in float32 is faster."""
        full = priced_change(view, "float32", WORTH_GAIN)
        if full is None or view.frozen is None:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"in half precision a step takes {duration(view.frozen.value)}, in float32 "
                f"{duration(full.step.value)}"
            ),
            gain=full.gain,
            cure=Cure(
                self.safety, 'keras.config.set_dtype_policy("float32")', _default_policy(view)
            ),
            evidence={"step_ns": round(view.frozen.value), "float32_ns": round(full.step.value)},
            saves={"step": full.saved},
        )


def _default_policy(view: View) -> tuple[Edit, ...]:
    file = view.recorded.file
    return (DropSetting(Where(file, ANYWHERE), SETTERS),) if file else ()


RULE = UnhelpfulPrecision()
