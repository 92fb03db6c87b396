"""# accelerator-slower (EN003)

## What it finds
The GPU is slower than the CPU for this model and batch.

## Why it is slow
Each operation must be sent to the GPU, and each batch copied to it. With a small model and a small
batch the CPU is done before the GPU has started.

## Evidence
The script itself, in a fresh process without the GPU, is at least ${WORTH_GAIN:gain} faster per
step than as recorded. Unless that is clear, it must also be faster than in a fresh process with the
GPU.

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
or a larger batch: `fitdoctor devices train.py` shows the batch size from which the GPU is faster.

## Fix safety
Different rounding: unsafe. The edit sets the variable before the script's imports.

## When not to
The model or the batch will grow: look at the crossover first.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import OS, AddSetting, Edit
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import worth
from fitdoctor.pricing.fresh_trial import faster_run
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, setting_place
from fitdoctor.units import duration

# What each backend reads, when it is imported, as "no GPU".
NO_GPU = {
    "jax": ("JAX_PLATFORMS", "cpu"),
    "tensorflow": ("CUDA_VISIBLE_DEVICES", "-1"),
    "torch": ("CUDA_VISIBLE_DEVICES", "-1"),
}


class AcceleratorSlower(Rule):
    summary = "the GPU is slower than the CPU for this model and batch"
    safety = "unsafe"
    numbers_from = (worth,)
    # Compiling again and again takes as long on any device.
    explained_by = frozenset({"CO001", "CO002"})

    def detect(self, view: View) -> Finding | None:
        """Fresh runs without the GPU are faster."""
        trial = faster_run(view, "cpu")
        if trial is None:
            return None
        return self.finding(
            view,
            f"on the GPU a step takes {duration(trial.as_is)}, on the CPU "
            f"{duration(trial.changed)}",
            Cure(
                self.safety,
                "train on the CPU, or with a larger batch (fitdoctor devices shows how large)",
                _edits(view),
            ),
            saves=trial.saves,
            evidence={"gpu_ns": round(trial.as_is), "cpu_ns": round(trial.changed)},
            how="tried",
        )


def _edits(view: View) -> tuple[Edit, ...]:
    if view.backend not in NO_GPU:
        return ()
    name, value = NO_GPU[view.backend]
    statement = f'os.environ["{name}"] = "{value}"'
    return at(setting_place(view), AddSetting, statement, (name,), (OS,), first=True)


RULE = AcceleratorSlower()
