"""# full-precision (MO006)

## What it finds
The model computes in float32 on a device that is faster in half precision.

## Why it is slow
GPUs have units that multiply half-precision matrices several times faster, and half the bytes move.

## Evidence
On a GPU, the same step with every layer in mixed_bfloat16, tried on the frozen batch, makes
training at least ${WORTH_CHANGE:gain} faster.

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
Different rounding: unsafe. Keep the last layer and the loss in float32.

## When not to
On a CPU and on small models: the trial then shows no gain.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import KERAS, AddSetting
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import PRECISION_SETTERS, at, setting_place

POLICY = 'keras.config.set_dtype_policy("mixed_bfloat16")'


class FullPrecision(Rule):
    summary = "half precision would be faster on this device"
    safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The same step in half precision is faster."""
        half = tried_change(view, view.left_by_change("bfloat16"), WORTH_CHANGE)
        if half is None:
            return None
        return self.finding(
            view,
            half.in_words("in float32", "in mixed_bfloat16"),
            Cure(
                self.safety,
                POLICY,
                at(setting_place(view), AddSetting, POLICY, PRECISION_SETTERS, (KERAS,)),
            ),
            saves=half.saves,
            evidence=half.evidence("bfloat16_ns"),
            how="tried",
        )


RULE = FullPrecision()
