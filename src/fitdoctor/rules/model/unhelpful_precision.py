"""# unhelpful-precision (MO005)

## What it finds
The model computes in float16 or bfloat16, which makes it slower.

## Why it is slow
Half precision pays off where the hardware has units for it. A CPU emulates float16, and every
layer casts its inputs and weights.

## Evidence
The same step with every layer in float32, tried on the frozen batch, makes training at least
${WORTH_GAIN:gain} faster.

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
The precision changes: unsafe, although it is more exact.

## When not to
On a GPU with tensor cores and large layers: the trial then shows no gain.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import DropSetting
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing.model_change import tried_change
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import PRECISION_SETTERS, at, training_file


class UnhelpfulPrecision(Rule):
    summary = "half precision makes the step slower here"
    safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The same model in float32 is faster."""
        full = tried_change(view, view.left_by_change("float32"), WORTH_GAIN)
        if full is None:
            return None
        return self.finding(
            view,
            full.in_words("in half precision", "in float32"),
            Cure(
                self.safety,
                'keras.config.set_dtype_policy("float32")',
                at(training_file(view), DropSetting, PRECISION_SETTERS),
            ),
            saves=full.saves,
            evidence=full.evidence("float32_ns"),
            how="tried",
        )


RULE = UnhelpfulPrecision()
