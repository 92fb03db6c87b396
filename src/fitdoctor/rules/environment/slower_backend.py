"""# slower-backend (EN006)

## What it finds
The same script is clearly faster on another of Keras's backends.

## Why it is slow
Backends differ by kernel and by what they do around a step: on a CPU, TensorFlow's convolutions are
faster, JAX starts tiny steps sooner, torch runs every op by itself.

## Evidence
The script itself, unchanged, run in fresh processes on its own and on the other backend in turns
(`fitdoctor run --try-backend NAME`): the other takes at least 20 % less time per step.

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
The same model with other rounding and other random numbers: advice.

## When not to
Any other cause was found: cure that first.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety
from fitdoctor.findings.place import place_of
from fitdoctor.pricing.fresh_trial import saved_by_trial
from fitdoctor.pricing.joint import gain
from fitdoctor.units import duration

PAGE = __doc__ or ""

WORTH_GAIN = 1.25
BACKENDS = ("tensorflow", "jax", "torch")


class SlowerBackend:
    """EN006."""

    code = "EN006"
    name = "slower-backend"
    summary = "the same script is faster on another backend"
    page = PAGE
    safety: Safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """The best of the backends that were tried."""
        total = view.costs.total
        tried = {name: view.result(f"fresh_{name}") for name in BACKENDS}
        saved = {
            name: found
            for name, trial in tried.items()
            if (found := saved_by_trial(total, trial, WORTH_GAIN)) is not None
        }
        if not saved:
            return None
        name = max(saved, key=lambda one: saved[one].value)
        step = min((tried[name] or {})["changed"])
        return Finding(
            rule=self.code,
            name=self.name,
            where=place_of(view.recorded),
            message=(
                f"on {name} the same script takes {duration(step)} per step, on {view.backend} "
                f"{duration(total.value)}"
            ),
            gain=gain(total, saved[name]),
            cure=Cure(self.safety, f"KERAS_BACKEND={name}"),
            evidence={"backend": name, "step_ns": round(step)},
            saves={"step": saved[name]},
        )


RULE = SlowerBackend()
