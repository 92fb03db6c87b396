"""# unfused-attention (MO010)

## What it finds
Attention layers store a weight for every pair of positions, and could compute without.

## Why it is slow
With `dropout`, or with `return_attention_scores=True`, Keras computes the scores of all pairs of
positions, their softmax and a random mask one after the other, and stores each for the gradient.
Without these it calls `ops.dot_product_attention`. torch, and JAX on a GPU, compute that in one
fused operation. Elsewhere only the random mask is saved. Flash attention also needs half precision,
heads of a size that the kernel knows, and no mask except for the causal one.

## Evidence
The same step with the fused path allowed (no attention dropout, no scores, `flash_attention` left
to Keras) makes training at least ${WORTH_CHANGE:gain} faster. It was tried on your own model and
batch, in turns with the step as it is.

## Predicted gain
The measured step of that trial.

## Example
```python
keras.layers.MultiHeadAttention(8, 64, dropout=0.1)
output, _ = attention(x, x, return_attention_scores=True)
```

## Use instead
```python
keras.layers.MultiHeadAttention(8, 64)     # and keras.layers.Dropout(0.1) on its output
output = attention(x, x)
```

## Fix safety
Without scores: the same arithmetic, except for rounding. Without attention dropout: another
regularisation. Unsafe.

## When not to
- The scores are used: the trial is then impossible, and the rule is silent.
- Your accuracy depends on attention dropout.
- The fused operation is no faster, as for short sequences on a CPU: the rule is then silent.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.attention import FusedAttention
from fitdoctor.findings.edits import DropKeyword, Edit
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import model_change
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import training_file

WORDS = {
    "dropout": "attention dropout",
    "return_attention_scores": "returned scores",
    "flash_attention": "flash attention switched off",
}
CURES = {
    "dropout": "dropout on the layer's output instead of on its weights",
    "return_attention_scores": "do not ask for the scores while training",
    "flash_attention": "leave flash_attention to Keras",
}


class UnfusedAttention(Rule):
    summary = "attention is computed in several operations"
    safety = "unsafe"
    numbers_from = (model_change,)

    def detect(self, view: View) -> Finding | None:
        """The step with attention free to take the fused path is faster."""
        tried = view.found(FusedAttention)
        fused = tried_change(view, view.left_by(FusedAttention), WORTH_CHANGE)
        if tried is None or fused is None:
            return None
        kept = " and ".join(WORDS[one] for one in tried.reasons if one in WORDS)
        layers = " and ".join(tried.types)
        return self.finding(
            view,
            fused.in_words(f"with {kept} in {layers}", "without"),
            Cure(
                self.safety,
                "; ".join(CURES[one] for one in tried.reasons if one in CURES),
                _edits(view, tried),
            ),
            saves=fused.saves,
            evidence={**fused.evidence("fused_ns"), "reasons": ", ".join(tried.reasons)},
            how="tried",
        )


def _edits(view: View, tried: FusedAttention) -> tuple[Edit, ...]:
    """Scores are returned to code that is not known, so that dropout alone is an edit."""
    file = training_file(view)
    if file is None or tried.reasons != ("dropout",):
        return ()
    return tuple(DropKeyword(file, name, "dropout") for name in tried.types)


RULE = UnfusedAttention()
