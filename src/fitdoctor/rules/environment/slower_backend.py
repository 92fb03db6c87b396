"""# slower-backend (EN006)

## What it finds
The same script is clearly faster on another of Keras's backends.

## Why it is slow
Backends differ in their kernels and in their work around a step. On a CPU, TensorFlow's
convolutions are faster, JAX starts tiny steps sooner, and torch runs every op separately.

## Evidence
The script itself, unchanged, runs in fresh processes on its own and on the other backend in turns
(`fitdoctor run --try-backend NAME`). The other one is at least ${WORTH_OTHER_BACKEND:gain} faster
per step.

## Predicted gain
The ratio of those runs.

## Example
```shell
KERAS_BACKEND=torch python train.py
```

## Use instead
```shell
KERAS_BACKEND=jax python train.py
```

## Fix safety
The same model with different rounding and different random numbers: advice.

## When not to
Any other cause was found: cure that first.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing.fresh_trial import faster_run
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration

# Another backend is another installation, with other random numbers: not worth it for less.
WORTH_OTHER_BACKEND = 1.25
BACKENDS = ("tensorflow", "jax", "torch")


class SlowerBackend(Rule):
    summary = "the same script is faster on another backend"
    safety = "advice"
    is_last_resort = True

    def detect(self, view: View) -> Finding | None:
        """The best of the backends that were tried."""
        tried = {name: faster_run(view, name, WORTH_OTHER_BACKEND) for name in BACKENDS}
        faster = {name: trial for name, trial in tried.items() if trial is not None}
        if not faster:
            return None
        name = max(faster, key=lambda one: faster[one].saves["step"].value)
        step = faster[name].changed
        return self.finding(
            view,
            f"on {name} the same script takes {duration(step)} per step, on {view.backend} "
            f"{duration(view.costs.total.value)}",
            Cure(self.safety, f"KERAS_BACKEND={name}"),
            saves=faster[name].saves,
            evidence={"backend": name, "step_ns": round(step)},
            how="tried",
        )


RULE = SlowerBackend()
