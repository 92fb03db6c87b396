"""# slow-version (EN009)

## What it finds
The installed Keras is known to compute a layer slowly. A later version does not. That
layer takes the time here.

## Why it is slow
Some versions replace a GPU's fused kernel by a Python loop, or never call it. The script does not
show that.

## Evidence
- the installed version, the backend and the device match a row of fitdoctor's table. Each row names
  the change in Keras that fixed it;
- layers of that kind were timed here, and take ${NOTABLE_SHARE:percent} of a step or more.

## Predicted gain
If the change states a factor: the layer's time divided by it. Otherwise a bound: at most, if the
layer cost nothing. A newer version is not tried, because that needs another environment.

## Example
```shell
python -m pip install "keras==3.13"      # with keras.layers.LSTM on JAX, on a GPU
```

## Use instead
```shell
python -m pip install --upgrade keras
```

## Fix safety
A new version may change more than this layer: advice.

## When not to
- The layer cannot use the fused kernel for another reason (`recurrent_dropout`, another
  activation, MO001).
- The version is pinned for a reason.
"""

from __future__ import annotations

from fitdoctor.analysis.model_costs import LayerCost, outer_layers
from fitdoctor.analysis.slow_versions import SlowVersion, slow_versions
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.device import Device
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.model_change import layer_share, real_step
from fitdoctor.rules.rule import Rule
from fitdoctor.units import percent

NOTABLE_SHARE = 0.2
# Another model, another GPU: the factor of a change holds this well here.
FACTOR_ERROR = 0.5


class SlowVersionInstalled(Rule):
    summary = "the installed Keras is known to be slow for a layer that takes the time"
    safety = "advice"
    # Tried here: says more than a table does.
    explained_by = frozenset({"MO001"})

    def detect(self, view: View) -> Finding | None:
        """The first row whose layers take a notable part of the step."""
        device = view.found(Device)
        rows = slow_versions(
            view.keras_version, view.backend, device.kind if device is not None else None
        )
        found = (self._of_row(view, row) for row in rows)
        return next((one for one in found if one is not None), None)

    def _of_row(self, view: View, row: SlowVersion) -> Finding | None:
        layers = [one for one in outer_layers(view.layers) if one.type == row.layer]
        share = _share(view, layers)
        if share.value < NOTABLE_SHARE:
            return None
        spent = share.scaled(real_step(view))
        return self.finding(
            view,
            f"{row.layer} takes {percent(share.value)} of a step, and Keras {view.keras_version} "
            f"{row.what} on {row.backend} (keras {row.change})",
            Cure(self.safety, f"install Keras {row.fixed} or newer"),
            saves={"step": _saved(spent, row)},
            evidence={
                "installed": view.keras_version,
                "fixed_in": row.fixed,
                "change": row.change,
                "share": round(share.value, 3),
            },
            how="bound" if row.factor is None else "modelled",
        )


def _share(view: View, layers: list[LayerCost]) -> Interval:
    whole = sum((layer_share(view, one) for one in layers), start=Interval.exact(0.0))
    return Interval.minimum(whole, Interval.exact(1.0))


def _saved(spent: Interval, row: SlowVersion) -> Interval:
    if row.factor is None:
        return Interval(spent.value, 0.0, spent.value)
    left = Interval.minimum(Interval.around(1.0 / row.factor, FACTOR_ERROR), Interval.exact(1.0))
    return spent.times(Interval.exact(1.0).minus(left))


RULE = SlowVersionInstalled()
