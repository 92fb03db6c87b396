"""# unfused-recurrence (MO001)

## What it finds
A recurrent layer runs step by step in small operations, although one kernel could do it.

## Why it is slow
Every position of a sequence starts about ten operations of a few microseconds each. On torch
without a GPU, Keras always does that, while `torch.lstm` does a whole sequence in one call.
`recurrent_dropout` draws a mask for the state at every position. On a GPU, it and any activation
except for the default one keep Keras from using the fused kernel.

## Evidence
One of these makes training at least ${WORTH_CHANGE:gain} faster, tried on your own model and batch:

- the same layers, with the same weights, computed by torch's own kernel;
- the model without recurrent dropout;
- on a GPU, the model with the default activations.

## Predicted gain
The measured step of that trial.

## Example
```python
keras.layers.LSTM(128, recurrent_dropout=0.2)
```

## Use instead
```python
keras.layers.LSTM(128, dropout=0.2)             # on the inputs, not on the state
```
On torch without a GPU, torch's layer instead of Keras's:
```python
class Recurrent(keras.layers.Layer):
    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units

    def build(self, shape):
        self.lstm = torch.nn.LSTM(shape[-1], self.units, batch_first=True)
        self._track_module_parameters()

    def call(self, x):
        return self.lstm(x)[0][:, -1]
```
or `keras.layers.TorchModuleWrapper(torch.nn.LSTM(...))`.

## Fix safety
torch's kernel: the same arithmetic with the same weights, except for rounding. Without recurrent
dropout: another regularisation, with the same rate on the inputs: unsafe. Other activations:
another function, to be trained again: unsafe.

## When not to
- Your accuracy depends on recurrent dropout.
- Sequences are masked: torch's kernel knows no mask.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.model import OtherActivations, RecurrentDropout
from fitdoctor.contract.limits import RECURRENT
from fitdoctor.findings.edits import DropKeyword, Edit, RenameKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import model_change
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import training_file


class UnfusedRecurrence(Rule):
    summary = "a recurrent layer is computed in small operations"
    safety = "unsafe"
    numbers_from = (model_change,)

    def detect(self, view: View) -> Finding | None:
        """The best of the trials."""
        trials = (self._native(view), self._without_dropout(view), self._activations(view))
        found = [one for one in trials if one]
        return max(found, key=lambda one: one.gain.value, default=None)

    def _native(self, view: View) -> Finding | None:
        """The same layers by torch's own kernel."""
        native = tried_change(view, view.left_by_change("native_recurrence"), WORTH_CHANGE)
        if native is None:
            return None
        types = sorted({one.type for one in view.layers if one.type in RECURRENT})
        layers = " and ".join(types) or "recurrent"
        return self.finding(
            view,
            native.in_words(
                f"Keras computes its {layers} layers position by position on torch:",
                "by torch's own kernel with the same weights",
            ),
            Cure(
                "advice",
                "use torch.nn.LSTM or torch.nn.GRU in the layer's place "
                "(keras.layers.TorchModuleWrapper), or train on another backend",
            ),
            saves=native.saves,
            evidence=native.evidence("native_ns"),
            how="tried",
        )

    def _without_dropout(self, view: View) -> Finding | None:
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
            how="tried",
        )

    def _activations(self, view: View) -> Finding | None:
        """The same model with the activations that the fused kernel has is faster."""
        fused = tried_change(view, view.left_by_change("default_activations"), WORTH_CHANGE)
        seen = view.found(OtherActivations)
        if fused is None or seen is None:
            return None
        file = training_file(view)
        names = " and ".join(seen.keywords)
        return self.finding(
            view,
            fused.in_words(
                f"with {names} of {' and '.join(seen.types)} other than the default",
                "with the default, in one fused kernel,",
            ),
            Cure(
                self.safety,
                f"leave {names} at the default: only then is there a fused kernel",
                ()
                if file is None
                else tuple(
                    DropKeyword(file, kind, name) for kind in seen.types for name in seen.keywords
                ),
            ),
            saves=fused.saves,
            evidence=fused.evidence("default_ns"),
            how="tried",
        )


def _edits(view: View) -> tuple[Edit, ...]:
    file, found = training_file(view), view.found(RecurrentDropout)
    if file is None or found is None:
        return ()
    return tuple(RenameKeyword(file, name, "recurrent_dropout", "dropout") for name in found.types)


RULE = UnfusedRecurrence()
