"""# own-code (HO005)

## What it finds
Your own Python around the training step takes a large part of the time: code in the loop's body,
between two calls of Keras, in a callback.

## Why it is slow
While it runs, nothing trains: the step waits for it, and so does the device. Usual causes: metrics
computed in NumPy or in a Python loop after every step, plots and logs, an environment that is
simulated step by step, data that is copied again and again.

## Evidence
- samples of the loop while it trained: in ${WORTH_SHARE:percent} of the time or more its thread was
  in your own code, neither in a framework nor making the step's data; or the epoch-end hooks of
  your callback took as much;
- without that time a step would be ${WORTH_GAIN:gain} faster or more. If the device computes in
  parallel with the host (JAX, a GPU), only time that it does not hide counts.

## Predicted gain
A bound: the step if this code cost nothing. You decide what can be saved; the lines are ranked by
their time.

## Example
```python
for x, y in batches:
    loss, predictions = train_step(x, y)
    for p, t in zip(predictions.numpy(), y.numpy()):      # once per sample, in Python
        confusion[t, p.argmax()] += 1
```

## Use instead
```python
for step, (x, y) in enumerate(batches):
    loss, predictions = train_step(x, y)
    if step % 50 == 0:                                    # less often, and for the whole batch
        np.add.at(confusion, (y.numpy(), predictions.numpy().argmax(1)), 1)
```

## Fix safety
Advice: it is your code.

## When not to
The code is the purpose of the script (a simulation), and is as fast as it can be.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from fitdoctor.analysis.costs import BUILT_IN_CALLBACKS, CHECKPOINT_CALLBACKS
from fitdoctor.analysis.loop_parts import OWN_CODE
from fitdoctor.analysis.view import View
from fitdoctor.analysis.watched_loop import WatchedLoop, loop_lines
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.findings.place import Where, line_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing import worth
from fitdoctor.pricing.joint import gain
from fitdoctor.pricing.worth import WORTH_GAIN
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration, percent

# Below this share of the time, the code around a step is what any loop has.
WORTH_SHARE = 0.15
SHOWN_LINES = 3
NOTABLE_LINE = 0.05
# Calls that a line may make of Keras or torch beside its step, and what to do instead.
INSTEAD = {
    "build the model once, before the loop, and copy the weights into it in place": frozenset(
        {"clone_model", "from_config", "model_from_json", "Functional", "Sequential", "compile"}
    ),
    "copy the weights inside a compiled function (`assign`), not through NumPy": frozenset(
        {"get_weights", "set_weights", "state_dict", "load_state_dict"}
    ),
    "save less often, or after training": frozenset(
        {"save", "save_weights", "load", "load_weights", "load_model"}
    ),
}


class OwnCode(Rule):
    summary = "your own Python around the step takes a large part of the time"
    safety = "advice"
    numbers_from = (worth,)

    def detect(self, view: View) -> Finding | None:
        """Around a loop's step, or in callbacks at the end of epochs."""
        return self._around(view) or self._in_callbacks(view)

    def _in_callbacks(self, view: View) -> Finding | None:
        """Time in the hooks of the user's callbacks at the end of epochs."""
        own = [
            one
            for one in view.recorded.callbacks
            if one.hook == "epoch" and one.name not in BUILT_IN_CALLBACKS | CHECKPOINT_CALLBACKS
        ]
        most = max(own, key=lambda one: one.ns, default=None)
        total = view.costs.total
        spent = 0.0 if most is None else most.ns / max(1, view.costs.steps)
        spent = min(spent, view.costs.parts.get("callbacks", 0.0))
        if most is None or view.is_group or spent < WORTH_SHARE * total.value:
            return None
        bound = Interval(spent, 0.0, spent)
        if gain(total, bound).value < WORTH_GAIN:
            return None
        lines = [(Where(p.file, p.line), p.function, share) for p, share in view.lines]
        hot = [one for one in lines if one[2] >= NOTABLE_LINE][:SHOWN_LINES]
        return self.finding(
            view,
            f"{most.name} takes {duration(most.ns / max(1, most.count))} at the end of each epoch, "
            f"{percent(spent / total.value)} of the time{_in_words(hot)}",
            Cure(self.safety, "do it less often (every Nth epoch), or after training"),
            saves={"callbacks": bound},
            where=hot[0][0] if hot else line_of(most),
            evidence={"callback": most.name, "own_code_ns": round(spent), "calls": most.count},
            how="bound",
        )

    def _around(self, view: View) -> Finding | None:
        """Time of the loop in the user's own code, which nothing hides."""
        total, own = view.costs.total, view.costs.parts.get(OWN_CODE, 0.0)
        watched = loop_lines(view.recorded)
        if watched is None or own < WORTH_SHARE * total.value:
            return None
        saved = min(own, total.value - _left_at_least(view))
        bound = Interval(saved, 0.0, saved) if saved > 0 else Interval.exact(0.0)
        if gain(total, bound).value < WORTH_GAIN:
            return None
        lines = _lines(watched)
        return self.finding(
            view,
            f"your own code around the step takes {duration(own)} of {duration(total.value)} per "
            f"{view.costs.unit}{_in_words(lines)}",
            Cure(self.safety, _advice(watched, lines)),
            saves={OWN_CODE: bound},
            where=lines[0][0] if lines else None,
            evidence={
                "own_code_ns": round(own),
                "own_code_share": round(own / total.value, 3),
                "samples": watched.samples,
                **{f"line_{n}": _text(one) for n, one in enumerate(lines, 1)},
            },
            how="bound",
        )

    def is_explained(
        self, finding: Finding, others: Sequence[Finding], kept: Sequence[Finding]
    ) -> bool:
        """Whoever explains the same time better saves more of the same part."""
        part = next(iter(finding.saves))
        return any(part in other.saves for other in others)


def _left_at_least(view: View) -> float:
    """Where the device computes beside the host, its step is left."""
    is_asynchronous = view.backend == "jax" or bool(view.accelerators)
    if not is_asynchronous or view.frozen is None:
        return 0.0
    return min(view.costs.total.value, view.frozen.value)


def _lines(watched: WatchedLoop) -> list[tuple[Where, str, float]]:
    """The hottest lines, with their share of the time."""
    found = [
        (Where(file, line), function, share)
        for (file, line, function, _), share in watched.lines("own")
    ]
    return [one for one in found if one[2] >= NOTABLE_LINE][:SHOWN_LINES]


def _text(line: tuple[Where, str, float]) -> str:
    where, function, share = line
    return f"{os.path.basename(where.file)}:{where.line} in {function}, {percent(share)}"


def _in_words(lines: list[tuple[Where, str, float]]) -> str:
    if not lines:
        return ""
    return ": " + "; ".join(_text(one) for one in lines)


def _advice(watched: WatchedLoop, lines: list[tuple[Where, str, float]]) -> str:
    for instead, calls in INSTEAD.items():
        if lines and lines[0][1] in calls:
            return instead
    part = watched.parts["own"]
    if watched.cores("own", own_thread=True) < 0.5 and part.samples:
        return "it mostly waits (disk, network, sleep): do it less often, or in another thread"
    return "do it less often (every Nth step), for the whole batch at once, or after training"


RULE = OwnCode()
