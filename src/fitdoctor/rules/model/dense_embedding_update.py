"""# dense-embedding-update (MO002)

## What it finds
Each step updates a whole embedding table, though a batch touches only a few of its rows.

## Why it is slow
Adam and most optimizers keep moments for every row and update all of them, in every step. The
cost grows with the vocabulary, not with the batch. Of Keras's optimizers only SGD without
momentum was measured to touch just the rows in the batch.

## Evidence
- the model has an embedding of a million weights or more;
- the same step with plain SGD, tried on the frozen batch, makes training at least 1.3x faster.

## Predicted gain
The step as tried. It is another training: the learning rate has to be found anew.

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

from typing import Any

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.pricing.model_change import priced_change
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.3


class DenseEmbeddingUpdate:
    """MO002."""

    code = "MO002"
    name = "dense-embedding-update"
    summary = "each step updates a whole embedding table"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """The same model with a sparse update is clearly faster."""
        sparse = priced_change(view, "sgd", WORTH_GAIN)
        if sparse is None or view.frozen is None:
            return None
        table = _table(view)
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"updating every row of {table} takes {duration(sparse.saved.value)} of a step of "
                f"{duration(view.frozen.value)}"
            ),
            gain=sparse.gain,
            cure=Cure(
                self.safety,
                "a smaller or hashed vocabulary, or SGD (as priced; it learns differently)",
            ),
            evidence={
                "step_ns": round(view.frozen.value),
                "sgd_step_ns": round(sparse.step.value),
                "table": table,
            },
            saves={"step": sparse.saved},
        )


def _table(view: View) -> str:
    layers: list[Any] = [layer for layer in view.layers if layer.type == "Embedding"]
    if not layers:
        return "the embedding table"
    largest = max(layers, key=lambda layer: layer.parameters or 0)
    return f"{largest.name} ({largest.parameters:,} weights)"


RULE = DenseEmbeddingUpdate()
