"""# accelerator-slower (EN003)

## What it finds
The GPU is slower than the CPU for this model and batch.

## Why it is slow
Each operation has to be sent to the GPU, and each batch copied to it. A small model at a small
batch is done on the CPU before the GPU has begun.

## Evidence
The script itself, in fresh processes with and without the GPU in turns, takes at least 10 % less
time per step without it.

## Predicted gain
The ratio of those runs.

## Example
```python
keras.Sequential([keras.layers.Dense(128), keras.layers.Dense(10)]).fit(x, y, batch_size=10)
```

## Use instead
```shell
CUDA_VISIBLE_DEVICES=-1 python train.py         # JAX: JAX_PLATFORMS=cpu
```
or a larger batch: `fitdoctor devices train.py` says from which size on the GPU wins.

## Fix safety
Other rounding: advice.

## When not to
The model or the batch will grow: look at the crossover first.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.rules._fresh_runs import fresh_runs
from fitdoctor.units import duration

PAGE = __doc__ or ""


class AcceleratorSlower:
    """EN003."""

    code = "EN003"
    name = "accelerator-slower"
    summary = "the GPU is slower than the CPU for this model and batch"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Fresh runs without the GPU are faster."""
        trial = fresh_runs(view, "fresh_cpu")
        if trial is None:
            return None
        return trial.finding(
            self,
            view,
            f"on the GPU a step takes {duration(trial.as_is)}, on the CPU "
            f"{duration(trial.changed)}",
            Cure(
                self.safety,
                "train on the CPU, or with a larger batch (fitdoctor devices says from where on)",
            ),
            gpu_ns=round(trial.as_is),
            cpu_ns=round(trial.changed),
        )


RULE = AcceleratorSlower()
