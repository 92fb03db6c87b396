"""# unfused-recurrence (MO001)

## What it finds
A recurrent layer is computed step by step in small operations, though one kernel could do it.

## Why it is slow
`recurrent_dropout` draws a mask for the state and multiplies by it at every time step. On a GPU it
also keeps Keras from using the fused kernel, as do other activations than the default ones.

## Evidence
A copy of your model without recurrent dropout takes at least 15 % less time per step.

## Predicted gain
The step of that copy.

## Example
```python
keras.layers.LSTM(128, recurrent_dropout=0.2)
```

## Use instead
```python
keras.layers.LSTM(128, dropout=0.2)             # on the inputs, not on the state
```

## Fix safety
Another regularisation, with the same rate on the inputs: unsafe.

## When not to
Recurrent dropout is what your accuracy rests on.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import Edit, RenameKeyword
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import ANYWHERE, place_of
from fitdoctor.pricing.model_change import priced_change
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.15


class UnfusedRecurrence:
    """MO001."""

    code = "MO001"
    name = "unfused-recurrence"
    summary = "a recurrent layer is computed in small operations"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The same model without recurrent dropout is faster."""
        fused = priced_change(view, "fused", WORTH_GAIN)
        if fused is None or view.frozen is None:
            return None
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"with recurrent dropout a step takes {duration(view.frozen.value)}, without it "
                f"{duration(fused.step.value)}"
            ),
            gain=fused.gain,
            cure=Cure(
                self.safety, "dropout on the inputs instead of recurrent_dropout", _edits(view)
            ),
            evidence={"step_ns": round(view.frozen.value), "without_ns": round(fused.step.value)},
            saves={"step": fused.saved},
        )


def _edits(view: View) -> tuple[Edit, ...]:
    """The layers' own calls were not recorded; the file that trains often builds them too."""
    file, types = view.recorded.file, (view.result("recurrent_dropout") or {}).get("types", ())
    if not file:
        return ()
    return tuple(
        RenameKeyword(Where(file, ANYWHERE), name, "recurrent_dropout", "dropout") for name in types
    )


RULE = UnfusedRecurrence()
