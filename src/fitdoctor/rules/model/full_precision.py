"""# full-precision (MO006)

## What it finds
The model computes in float32 on a device that is faster in half precision.

## Why it is slow
GPUs have units that multiply half-precision matrices several times faster, and half the bytes move.

## Evidence
On a GPU, the same step with every layer in mixed_bfloat16, tried on the frozen batch, is at least
15 % faster.

## Predicted gain
The step as tried.

## Example
```python
model = keras.applications.ResNet50()
```

## Use instead
```python
keras.config.set_dtype_policy("mixed_bfloat16")      # before the model is built
```

## Fix safety
Other rounding: unsafe. Keep the last layer and the loss in float32.

## When not to
On a CPU, and on small models: the trial then shows no gain.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import KERAS, AddSetting, Edit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import place_of
from fitdoctor.pricing.model_change import priced_change
from fitdoctor.rules.model.unhelpful_precision import SETTERS
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.15
POLICY = 'keras.config.set_dtype_policy("mixed_bfloat16")'


class FullPrecision:
    """MO006."""

    code = "MO006"
    name = "full-precision"
    summary = "half precision would be faster on this device"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The same step in half precision is faster."""
        half = priced_change(view, "bfloat16", WORTH_GAIN)
        if half is None or view.frozen is None:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"in float32 a step takes {duration(view.frozen.value)}, in mixed_bfloat16 "
                f"{duration(half.step.value)}"
            ),
            gain=half.gain,
            cure=Cure(self.safety, POLICY, _edits(view)),
            evidence={"step_ns": round(view.frozen.value), "bfloat16_ns": round(half.step.value)},
            saves={"step": half.saved},
        )


def _edits(view: View) -> tuple[Edit, ...]:
    recorded = view.recorded
    if not recorded.file:
        return ()
    return (AddSetting(Where(recorded.file, recorded.line or 1), POLICY, SETTERS, (KERAS,)),)


RULE = FullPrecision()
