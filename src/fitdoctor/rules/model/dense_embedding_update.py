"""# dense-embedding-update (MO002)

## What it finds
Each step updates a whole embedding table, though a batch touches only a few of its rows.

## Why it is slow
Adam and most optimizers keep moments for every row and update all of them, in every step. The
cost grows with the vocabulary, not with the batch. Of Keras's optimizers, only SGD without
momentum was measured to touch just the rows in the batch.

## Evidence
- the model has an embedding of ${LARGE_TABLE_WEIGHTS:count} weights or more;
- the same step with plain SGD, tried on the frozen batch, makes training at least
  ${WORTH_OTHER_TRAINING:gain} faster.

## Predicted gain
The step as tried. SGD trains differently: the learning rate has to be tuned again.

## Example
```python
keras.layers.Embedding(500_000, 32)
model.compile("adam", "mse")
```

## Use instead
A smaller or hashed vocabulary, a smaller dimension, SGD for this model, or a lazy optimizer of
your own.

## Fix safety
No exact cure exists: advice only.

## When not to
The rest of the step dominates: the trial then shows no gain.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract import limits
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing.model_change import tried_change
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
        return self.finding(
            view,
            f"updating every row of {table} takes "
            f"{duration(sparse.before.value - sparse.after.value)} of a step of "
            f"{duration(sparse.before.value)}",
            Cure(
                self.safety,
                "a smaller or hashed vocabulary, or SGD (as tried; it trains differently)",
            ),
            saves=sparse.saves,
            evidence={**sparse.evidence("sgd_step_ns"), "table": table},
            how="tried",
        )


def _table(view: View) -> str:
    layers = [layer for layer in view.layers if layer.type == "Embedding"]
    if not layers:
        return "the embedding table"
    largest = max(layers, key=lambda layer: layer.parameters or 0)
    return f"{largest.name} ({largest.parameters or 0:,} weights)"


RULE = DenseEmbeddingUpdate()
