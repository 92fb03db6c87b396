"""# uneven-ranks (EN011)

## What it finds
Training runs in several processes, and one of them comes late to every step.

## Why it is slow
A step ends when all processes have added up their gradients. All wait for the slowest one, so each
step takes as long as its step.

## Evidence
- `fitdoctor report --ranks` compared the same steps of all ranks.
- The slowest rank comes to its step later than any other, and the lower end of that interval is
  ${NOTABLE_SHARE:percent} of a step or more.
- The others wait for it: inside their step they take at least ${WAITED_SHARE:percent} of that time
  longer than the slowest rank. Processes that do not wait for each other do not show this.

## Predicted gain
The time by which the slowest rank is later than the next one.

## Example
```python
files = sorted(glob("data/*.tfrecord"))[rank::world]     # rank 3 got the large ones
```

## Use instead
Give each rank the same load: shard by records instead of files, use the same number of workers and
cores for each process, and put the data on the same disk.

## Fix safety
Advice: the cause is in this rank's data, its cores or its machine.

## When not to
One rank does the validation or writes the checkpoints on purpose.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.ranks import RankTimes
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.rules.rule import Rule
from fitdoctor.units import duration

# Less is the usual scatter between equal processes.
NOTABLE_SHARE = 0.1
# Of the lateness, that the others must be seen to wait.
WAITED_SHARE = 0.5
# Of the lateness, that a part must explain to be named.
MOSTLY = 0.5


class UnevenRanks(Rule):
    summary = "one of several processes comes late to every step, and the others wait"
    safety = "advice"

    def detect(self, view: View) -> Finding | None:
        """Fires on measured lateness that the other ranks are seen to wait for."""
        found = view.found(RankTimes)
        if found is None or found.late_low_ns < NOTABLE_SHARE * view.costs.total.value:
            return None
        if found.sync_ns < WAITED_SHARE * found.late_ns:
            return None
        part, words = _cause(found)
        late = Interval(found.late_ns, found.late_low_ns, found.late_high_ns)
        return self.finding(
            view,
            f"rank {found.slowest} of {len(found.ranks)} comes {duration(found.late_ns)} later to "
            f"every step than the next one ({words}), and the others wait for it",
            Cure(self.safety, f"give rank {found.slowest} as little to do as the others: {words}"),
            saves={part: late},
            evidence={
                "slowest": found.slowest,
                "ranks": len(found.ranks),
                "late_ns": round(found.late_ns),
                "sync_ns": round(found.sync_ns),
                "steps": found.steps,
            },
        )


def _cause(found: RankTimes) -> tuple[str, str]:
    """The part of the step that makes it late, and its name."""
    slowest = next(one for one in found.ranks if one.rank == found.slowest)
    others = [one for one in found.ranks if one is not slowest]
    if _more(slowest.wait_ns, [one.wait_ns for one in others]) >= MOSTLY * found.late_ns:
        return "input_wait", "its loader is slower"
    callbacks = _more(slowest.callbacks_ns, [one.callbacks_ns for one in others])
    if callbacks >= MOSTLY * found.late_ns:
        return "callbacks", "its callbacks take longer"
    return "between_calls", "its own code between steps takes longer"


def _more(of_slowest: float | None, of_others: list[float | None]) -> float:
    known = [one for one in of_others if one is not None]
    return of_slowest - max(known) if of_slowest is not None and known else 0.0


RULE = UnevenRanks()
