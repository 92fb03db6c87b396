"""# shipping-batches (IN008)

## What it finds
Worker processes make the batches, and sending them to the training process takes longer than
making them.

## Why it is slow
A batch from another process is pickled, sent through a pipe and unpickled. For large batches that
are quickly made, this costs more than making them in a thread of the training process.

## Evidence
- a real step takes longer than one on a frozen batch, and loading explains it;
- the loader uses processes, and one batch made in this process, by one thread, takes less than
  80 % of the time that a batch from the workers takes.

## Predicted gain
Batches made by one thread of this process, beside the step.

## Example
```python
Images(workers=2, use_multiprocessing=True)      # 57 MB a batch
```

## Use instead
```python
Images(workers=2, use_multiprocessing=False)
```

## Fix safety
The same batches in the same order: Keras keeps the order with threads and with processes. Code
that is not thread-safe needs `workers=1`.

## When not to
Batches are small and slow Python code makes them: then processes are right.
"""

from __future__ import annotations

from fitdoctor.analysis.estimate import from_windows
from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.prediction.joint import gain
from fitdoctor.prediction.loader_cure import input_is_slow, saved_by
from fitdoctor.rules._places import loader_options
from fitdoctor.units import duration, size

PAGE = __doc__ or ""

# Made here in less than this share of the time: shipping is the cost, not noise.
CLEARLY_LESS = 0.8


class ShippingBatches:
    """IN008."""

    code = "IN008"
    name = "shipping-batches"
    summary = "worker processes ship batches that one thread would make faster"
    page = PAGE
    safety: Safety = "safe"

    def detect(self, view: View) -> Finding | None:
        """Processes are used, and one thread of this process is faster."""
        loader, here = view.loader, view.result("in_process")
        if loader is None or not here or not view.input.get("use_multiprocessing"):
            return None
        made = from_windows(here.get("ns") or ())
        if made is None or not input_is_slow(view) or made.high > CLEARLY_LESS * loader.ns.value:
            return None
        # Workers begin with several batches at once: the first does not come a batch's time late.
        saved = saved_by(view, made, overlapped=True, first_batches=False)
        facts = view.input
        where = Where(str(facts["file"]), int(facts["line"])) if facts.get("file") else None
        return Finding(
            rule=self.code,
            name=self.name,
            where=where,
            message=(
                f"a batch of {size(here['payload_bytes'])} takes "
                f"{duration(loader.ns.value)} from {facts.get('workers', 'the')} worker processes, "
                f"{duration(made.value)} when made in this process"
            ),
            gain=gain(view.costs.total, saved),
            cure=Cure(
                self.safety,
                "use_multiprocessing=False: threads share memory",
                loader_options(view, use_multiprocessing="False"),
            ),
            evidence={
                "loader_ns": round(loader.ns.value),
                "in_process_ns": round(made.value),
                "payload_bytes": here["payload_bytes"],
                "pickle_ns": here["pickle_ns"],
                "workers": facts.get("workers"),
                "frozen_step_ns": round(view.ceiling_step.value),
            },
            saves={"input_wait": saved},
        )


RULE = ShippingBatches()
