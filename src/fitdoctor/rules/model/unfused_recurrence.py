"""# unfused-recurrence (MO001)

## What it finds
A recurrent layer is computed step by step in small operations, though one kernel could do it.

## Why it is slow
`recurrent_dropout` draws a mask for the state and multiplies by it at every time step. On a GPU it
also keeps Keras from using the fused kernel, as does any activation other than the default one.

## Evidence
A copy of your model without recurrent dropout makes training at least ${WORTH_CHANGE:gain} faster.

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
Your accuracy depends on recurrent dropout.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import RecurrentDropout
from fitdoctor.findings.edits import Edit, RenameKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import training_file


class UnfusedRecurrence(Rule):
    summary = "a recurrent layer is computed in small operations"
    safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The same model without recurrent dropout is faster."""
        fused = tried_change(view, view.left_by_change("fused"), WORTH_CHANGE)
        if fused is None:
            return None
        return self.finding(
            view,
            fused.in_words("with recurrent dropout", "without it"),
            Cure(self.safety, "dropout on the inputs instead of recurrent_dropout", _edits(view)),
            saves=fused.saves,
            evidence=fused.evidence("without_ns"),
        )


def _edits(view: View) -> tuple[Edit, ...]:
    file, found = training_file(view), view.found(RecurrentDropout)
    if file is None or found is None:
        return ()
    return tuple(RenameKeyword(file, name, "recurrent_dropout", "dropout") for name in found.types)


RULE = UnfusedRecurrence()
