"""# accelerator-unused (EN001)

## What it finds
The machine has a GPU, Keras computes on the CPU, and the GPU is faster.

## Why it is slow
The GPU is hidden (`CUDA_VISIBLE_DEVICES`, `JAX_PLATFORMS`), or the script places its work on the
CPU. A backend built without GPU support has the same effect. There is then nothing to try, and the
report says so above its numbers instead.

## Evidence
The script itself, in a fresh process with the GPU visible, is at least ${WORTH_GAIN:gain} faster
per step than as recorded. Unless that is clear, it must also be faster than in a fresh process as
it is.

## Predicted gain
The ratio of those runs.

## Example
```python
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"       # left over from a broken driver
```

## Use instead
Remove the line, or unset the variable in the shell.

## Fix safety
Different rounding, and we do not know why the line is there: unsafe. `fix` does not change
variables set in the shell.

## When not to
The model is so small that the CPU is faster (EN003): this rule is then silent.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import DropSetting
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import worth
from fitdoctor.pricing.fresh_trial import faster_run
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, training_file
from fitdoctor.units import duration

HIDES_THE_GPU = ("CUDA_VISIBLE_DEVICES", "JAX_PLATFORMS", "JAX_PLATFORM_NAME", "jax_platforms")


class AcceleratorUnused(Rule):
    summary = "there is a GPU that Keras does not use, and it would be faster"
    safety = "unsafe"
    numbers_from = (worth,)

    def detect(self, view: View) -> Finding | None:
        """Fresh runs that see the GPU are faster."""
        trial = faster_run(view, "gpu")
        if trial is None:
            return None
        return self.finding(
            view,
            f"on the CPU a step takes {duration(trial.as_is)}, on this machine's GPU "
            f"{duration(trial.changed)}",
            Cure(
                self.safety,
                "let the backend see the GPU: remove CUDA_VISIBLE_DEVICES and JAX_PLATFORMS from "
                "the script and the shell",
                # What the shell sets is not ours to change.
                at(training_file(view), DropSetting, HIDES_THE_GPU),
            ),
            saves=trial.saves,
            evidence={"cpu_ns": round(trial.as_is), "gpu_ns": round(trial.changed)},
            how="tried",
        )


RULE = AcceleratorUnused()
