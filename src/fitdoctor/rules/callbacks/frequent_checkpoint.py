"""# frequent-checkpoint (CB003)

## What it finds
Saving the model, or writing TensorBoard summaries, takes a large part of the training.

## Why it is slow
A checkpoint writes all weights and the optimizer's slots, several times the model's size. After
every batch, or after each short epoch, writing takes longer than training. TensorBoard with
`update_freq="batch"` or histograms does the same.

## Evidence
Time inside the hooks of `ModelCheckpoint`, `BackupAndRestore`, `OrbaxCheckpoint` or `TensorBoard`,
measured by name, is ${WORTH_SHARE:percent} or more of the training.

## Predicted gain
One save per epoch instead of saves at batches. One save every ${EVERY_EPOCHS} epochs instead of one
per epoch.

## Example
```python
keras.callbacks.ModelCheckpoint("model.keras", save_freq=1)
```

## Use instead
```python
keras.callbacks.ModelCheckpoint("model.keras", save_freq="epoch")
keras.callbacks.TensorBoard(update_freq="epoch", histogram_freq=0)
```

## Fix safety
The training stays the same. Fewer files are written, and a crash loses more: unsafe.

## When not to
Epochs take hours: a save every few hundred steps then protects the work.
"""

from __future__ import annotations

from fitdoctor.analysis.costs import CHECKPOINT_CALLBACKS
from fitdoctor.analysis.view import View
from fitdoctor.contract.records import CallbackTotal
from fitdoctor.findings.edits import Edit, SetKeyword
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, training_file
from fitdoctor.units import duration, percent

WRITERS = CHECKPOINT_CALLBACKS | {"TensorBoard"}
WORTH_SHARE = 0.05
EVERY_EPOCHS = 5
TIME_ERROR = 0.1


class FrequentCheckpoint(Rule):
    summary = "saving the model or its summaries takes the time"
    safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """The heaviest writing callback, at batches or at epochs."""
        writers = [t for t in view.recorded.callbacks if t.name in WRITERS and t.hook != "train"]
        if view.is_group or not writers:
            return None
        heaviest = max(writers, key=lambda total: total.ns)
        spent = heaviest.ns / max(1, view.costs.steps)
        total = view.costs.total
        if spent < WORTH_SHARE * total.value:
            return None
        saved = Interval.around(max(0.0, spent - _left(view, heaviest, spent)), TIME_ERROR)
        part = "callbacks" if heaviest.name == "TensorBoard" else "checkpoint"
        return self.finding(
            view,
            f"{heaviest.name} takes {duration(spent)} per step, "
            f"{percent(spent / total.value)} of the time",
            Cure(self.safety, _advice(heaviest), _less_often(view, heaviest)),
            saves={part: saved},
            evidence={
                "callback": heaviest.name,
                "hook": heaviest.hook,
                "ns_per_step": round(spent),
                "calls": heaviest.count,
            },
        )


def _left(view: View, heaviest: CallbackTotal, spent: float) -> float:
    """What still has to be written per step after the cure."""
    if heaviest.hook == "epoch":
        return spent / EVERY_EPOCHS
    steps = view.steps_per_epoch
    return 0.0 if steps is None else spent / max(1.0, steps)


def _advice(heaviest: CallbackTotal) -> str:
    if heaviest.name == "TensorBoard":
        return 'TensorBoard(update_freq="epoch", histogram_freq=0)'
    if heaviest.hook == "epoch":
        return f"save every {EVERY_EPOCHS} epochs, or save_weights_only=True"
    return f'{heaviest.name}(save_freq="epoch")'


def _less_often(view: View, heaviest: CallbackTotal) -> tuple[Edit, ...]:
    """Once per epoch; how often is better still is for the user to say."""
    if heaviest.hook != "epoch":
        keyword = "update_freq" if heaviest.name == "TensorBoard" else "save_freq"
        return at(training_file(view), SetKeyword, heaviest.name, keyword, '"epoch"')
    if heaviest.name == "TensorBoard":
        return at(training_file(view), SetKeyword, heaviest.name, "histogram_freq", "0")
    return ()


RULE = FrequentCheckpoint()
