"""# cold-compile (CO005)

## What it finds
Every start compiles the same programs again, because no cache keeps them for the next start.

## Why it is slow
XLA compiles a large step for seconds or minutes. The result depends only on the program and the
versions, so a second start of the same script could read it from disk.

## Evidence
- Keras runs on JAX, and no compilation cache is on;
- up to the end of the first step, compiling took at least ${LONG_NS:s}, and ${SHARE:percent} or
  more of the whole planned run;
- of two starts in fresh processes, the second reads the first one's cache, and trains sooner.

## Predicted gain
The whole planned run, minus the time that the second start saved. The first start with a cache
takes as long as before. Without these starts (`--no-trials`) a bound: at most the time of
compiling.

## Example
```python
import keras
model.fit(images, labels, epochs=2)
```

## Use instead
```python
import os
os.environ["JAX_COMPILATION_CACHE_DIR"] = os.path.expanduser("~/.cache/jax")
os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
import keras
```

Or, after `import jax`: `jax.config.update("jax_compilation_cache_dir", ...)`; if your Keras has it:
`keras.config.enable_jit_cache(...)`. Keep the folder private: whoever can write to it can run code.

## Fix safety
The same programs: safe. The folder grows with each change of the model or of a batch's shape.

## When not to
The run is long compared with compiling. Shapes change with every step (CO002). A Python loop is
unrolled into the step (CO003). On TensorFlow a start is mostly tracing, which no cache keeps. torch
keeps compiled programs by itself.
"""

from __future__ import annotations

from fitdoctor.analysis.beginning import Beginning
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.compile_cache import WarmStart
from fitdoctor.findings.edits import OS, AddSetting, Edit
from fitdoctor.findings.finding import Cure, Finding, How
from fitdoctor.intervals import Interval
from fitdoctor.pricing import cold_start
from fitdoctor.pricing.cold_start import is_worth_keeping, run_ns
from fitdoctor.rules.rule import Rule
from fitdoctor.rules.support.places import at, setting_place
from fitdoctor.units import duration, size

# Two processes, one right after the other, differ by this much.
ERROR = 0.15
FOLDER = 'os.path.expanduser("~/.cache/jax")'
# Each with the other names of the same setting.
SETTINGS = (
    ("JAX_COMPILATION_CACHE_DIR", FOLDER),
    ("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", '"0"'),
)


class ColdCompile(Rule):
    summary = "every start compiles the same programs again"
    safety = "safe"
    numbers_from = (cold_start,)
    # Fewer compilations are better than kept ones.
    explained_by = frozenset({"CO001", "CO002", "CO003"})

    def detect(self, view: View) -> Finding | None:
        """Compilation that the planned steps do not outweigh."""
        begun, whole = view.beginning, run_ns(view)
        if begun is None or whole is None or not is_worth_keeping(view):
            return None
        tried = view.found(WarmStart)
        saved, how = _saved(begun, tried)
        gain = Interval.exact(whole).divided_by(Interval.exact(whole).minus(saved, floor=1.0))
        return self.finding(
            view,
            f"compiling took {duration(begun.compile_ns)} of the {duration(begun.ns)} to the end "
            f"of the first step, and the whole run takes {duration(whole)}{_in_words(tried)}",
            Cure(
                self.safety, "keep compiled programs in a folder for the next start", _edits(view)
            ),
            predicted=gain,
            scope="run",
            how=how,
            evidence={
                "compile_ns": round(begun.compile_ns),
                "start_ns": round(begun.ns),
                "run_ns": round(whole),
                "cold_start_ns": None if tried is None else round(tried.cold_ns),
                "warm_start_ns": None if tried is None else round(tried.warm_ns),
                "cache_bytes": None if tried is None else tried.bytes,
            },
        )


def _saved(begun: Beginning, tried: WarmStart | None) -> tuple[Interval, How]:
    """Of the recorded start, by the part of it that a second start left out."""
    if tried is None:
        return Interval(begun.compile_ns, 0.0, begun.compile_ns), "bound"
    left = Interval.around(tried.warm_ns / tried.cold_ns, ERROR)
    return Interval.exact(begun.ns).minus(left.scaled(begun.ns)), "tried"


def _in_words(tried: WarmStart | None) -> str:
    if tried is None:
        return ""
    return (
        f"; with a cache of {size(tried.bytes)} a second start takes {duration(tried.warm_ns)} "
        f"instead of {duration(tried.cold_ns)}"
    )


def _edits(view: View) -> tuple[Edit, ...]:
    return tuple(
        edit
        for name, value in SETTINGS
        for edit in at(
            setting_place(view),
            AddSetting,
            f'os.environ["{name}"] = {value}',
            (name, name.lower()),
            (OS,),
            first=True,
        )
    )


RULE = ColdCompile()
