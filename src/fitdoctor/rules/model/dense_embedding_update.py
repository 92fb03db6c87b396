"""# dense-embedding-update (MO002)

## What it finds
Each step updates a whole embedding table, though a batch touches only a few of its rows.

## Why it is slow
Adam and most optimizers keep moments for every row and update all of them in every step. The cost
grows with the vocabulary, not with the batch. In our measurements, only SGD without momentum
touches just the rows in the batch.

## Evidence
- the model has an embedding of ${LARGE_TABLE_WEIGHTS:count} weights or more;
- the same step with plain SGD, tried on the frozen batch, makes training at least
  ${WORTH_OTHER_TRAINING:gain} faster.

## Predicted gain
The step as tried with SGD. SGD trains differently: tune the learning rate again. For a smaller
table a bound: the step without the update and without the layer.

## Example
```python
keras.layers.Embedding(500_000, 32)
model.compile("adam", "mse")
```

## Use instead
A smaller or hashed vocabulary, a smaller dimension, SGD for this model, or your own lazy optimizer.

## Fix safety
No exact cure exists: advice only.

## When not to
The rest of the step dominates: the trial then shows no gain.
"""

from __future__ import annotations

from dataclasses import replace

from fitdoctor.analysis.view import View
from fitdoctor.contract import limits
from fitdoctor.contract.limits import LARGE_TABLE_WEIGHTS
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.model_change import TriedChange, saved_of_layer, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration

# Every cure needs another search for the learning rate, or another vocabulary.
WORTH_OTHER_TRAINING = 1.3


class DenseEmbeddingUpdate(Rule):
    summary = "each step updates a whole embedding table"
    safety = "advice"
    numbers_from = (limits,)

    def detect(self, view: View) -> Finding | None:
        """The same model with a sparse update is clearly faster."""
        sparse = tried_change(view, view.left_by_change("sgd"), WORTH_OTHER_TRAINING)
        if sparse is None:
            return None
        table = _table(view)
        message = (
            f"updating every row of {table} takes "
            f"{duration(sparse.before.value - sparse.after.value)} of a step of "
            f"{duration(sparse.before.value)}"
        )
        found = self.finding(
            view,
            message,
            Cure(self.safety, "SGD for this model, which updates the rows of the batch only"),
            saves=sparse.saves,
            evidence={**sparse.evidence("sgd_step_ns"), "table": table},
            how="tried",
        )
        smaller = self._smaller(view, found, sparse)
        return found if smaller is None else replace(found, also=(smaller,))

    def _smaller(self, view: View, found: Finding, sparse: TriedChange) -> Finding | None:
        """A table of the rows that occur costs next to nothing: a bound."""
        tables = [
            layer
            for layer in view.layers
            if layer.type == "Embedding" and (layer.parameters or 0) >= LARGE_TABLE_WEIGHTS
        ]
        inside = sum(saved_of_layer(view, one, Interval.exact(0.0)).value for one in tables)
        most = min(view.costs.total.value, sparse.saved.value + inside)
        bound = self.finding(
            view,
            found.message,
            Cure(
                self.safety,
                "a table of the rows that occur (np.unique(ids, return_inverse=True)), or hashed "
                "ids",
            ),
            saves={"step": Interval(most, 0.0, most)},
            evidence=found.evidence,
            how="bound",
        )
        return bound if bound.gain.value > found.gain.value else None


def _table(view: View) -> str:
    layers = [layer for layer in view.layers if layer.type == "Embedding"]
    if not layers:
        return "the embedding table"
    largest = max(layers, key=lambda layer: layer.parameters or 0)
    return f"{largest.name} ({largest.parameters or 0:,} weights)"


RULE = DenseEmbeddingUpdate()
