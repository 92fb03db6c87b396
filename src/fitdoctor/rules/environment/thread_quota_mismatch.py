"""# thread-quota-mismatch (EN002)

## What it finds
The step uses more threads than the process may use cores.

## Why it is slow
Threads that wait for each other take turns on too few cores: each waits for one that is not
running. Too many threads do no harm on free cores. Under a quota or an affinity they do.

## Evidence
- the requested number of threads (`TF_NUM_INTRAOP_THREADS`, `tf.config.threading`,
  `torch.set_num_threads`) is larger than the cores that affinity and quota allow;
- the script with as many threads as cores is at least ${WORTH_GAIN:gain} faster per step, in fresh
  processes and in turns with the script as it is.

## Predicted gain
The step as measured with as many threads as cores.

## Example
```shell
docker run --cpus 1 -e TF_NUM_INTRAOP_THREADS=32 ...
```

## Use instead
Leave the number unset, or set it to the cores you have.

## Fix safety
Sums are computed in another order: results differ in the last digits. Unsafe.

## When not to
There are enough cores: the number then does not matter.
"""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.step import Threads
from fitdoctor.findings.edits import DropSetting
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.pricing import worth
from fitdoctor.pricing.fresh_trial import faster_run
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, training_file
from fitdoctor.units import duration

# What sets the number of threads inside one operation.
SETTINGS = {
    "tensorflow": ("TF_NUM_INTRAOP_THREADS", "set_intra_op_parallelism_threads"),
    "torch": ("set_num_threads", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
}


class ThreadQuotaMismatch(Rule):
    summary = "more threads than the cores they may use"
    safety = "unsafe"
    numbers_from = (worth,)

    def detect(self, view: View) -> Finding | None:
        """Fresh runs with fewer threads are faster."""
        threads, trial = view.found(Threads), faster_run(view, "threads")
        if threads is None or threads.asked is None or trial is None:
            return None
        asked, allowed, names = threads.asked, threads.allowed, SETTINGS.get(view.backend)
        return self.finding(
            view,
            f"{asked} threads compute on {allowed} allowed core{'s' if allowed != 1 else ''}; with "
            f"as many threads as cores a step takes {duration(trial.changed)} instead of "
            f"{duration(trial.as_is)}",
            Cure(
                self.safety,
                f"leave the number of threads unset, or set it to {allowed}",
                at(training_file(view), DropSetting, names) if names else (),
            ),
            saves=trial.saves,
            evidence={"asked": asked, "allowed": allowed},
            how="tried",
        )


RULE = ThreadQuotaMismatch()
