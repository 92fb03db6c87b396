"""# thread-quota-mismatch (EN002)

## What it finds
The step computes with more threads than it may use cores.

## Why it is slow
Threads that wait for each other take turns on too few cores: each waits for one that is not
running. On free cores too many threads are harmless; under a quota or an affinity they are not.

## Evidence
- the number of threads asked for (`TF_NUM_INTRAOP_THREADS`, `tf.config.threading`,
  `torch.set_num_threads`) is larger than the cores that affinity and quota allow;
- the same script in fresh processes with as many threads as cores, in turns with the script as
  it is, takes at least 10 % less time per step.

## Predicted gain
The step as measured with as many threads as cores.

## Example
```shell
docker run --cpus 1 -e TF_NUM_INTRAOP_THREADS=32 ...
```

## Use instead
Leave the number unset, or set it to the cores you have.

## Fix safety
Sums are added up in another order: results differ in the last digits. Unsafe.

## When not to
The cores are there: then the number does not matter.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.findings.edits import DropSetting, Edit
from fitdoctor.findings.finding import Cure, Finding, Safety, Where
from fitdoctor.findings.place import ANYWHERE
from fitdoctor.rules.support.fresh_runs import fresh_runs
from fitdoctor.units import duration

PAGE = __doc__ or ""

# What sets the number of threads inside one operation.
SETTINGS = {
    "tensorflow": ("TF_NUM_INTRAOP_THREADS", "set_intra_op_parallelism_threads"),
    "torch": ("set_num_threads", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
}


class ThreadQuotaMismatch:
    """EN002."""

    code = "EN002"
    name = "thread-quota-mismatch"
    summary = "more threads than the cores they may use"
    page = PAGE
    safety: Safety = "unsafe"

    def detect(self, view: View) -> Finding | None:
        """Fresh runs with fewer threads are faster."""
        threads, trial = view.result("threads"), fresh_runs(view, "fresh_threads")
        if not threads or trial is None:
            return None
        asked, allowed = int(threads["asked"]), int(threads["allowed"])
        return trial.finding(
            self,
            view,
            f"{asked} threads compute on {allowed} allowed core{'s' if allowed != 1 else ''}; with "
            f"as many threads as cores a step takes {duration(trial.changed)} instead of "
            f"{duration(trial.as_is)}",
            Cure(
                self.safety,
                f"leave the number of threads unset, or set it to {allowed}",
                _unset(view),
            ),
            asked=asked,
            allowed=allowed,
        )


def _unset(view: View) -> tuple[Edit, ...]:
    file, names = view.recorded.file, SETTINGS.get(view.backend)
    return (DropSetting(Where(file, ANYWHERE), names),) if file and names else ()


RULE = ThreadQuotaMismatch()
