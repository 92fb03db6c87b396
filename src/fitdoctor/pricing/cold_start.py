"""When the compilation of a start is worth keeping for the next start."""

from __future__ import annotations

from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.compile_cache import CompileCache

# Nobody waits for less.
LONG_NS = 5e9
# Of the run as planned.
SHARE = 0.2


def run_ns(view: View) -> float | None:
    """The whole run as planned; None where its length is not known."""
    if view.beginning is None or view.recorded.kind != "fit":
        return None
    if view.steps_per_epoch is None or view.passes is None:
        return None
    return view.beginning.ns + view.planned_steps * view.costs.total.value


def is_worth_keeping(view: View) -> bool:
    """Whether compiling takes a notable part of the run, and its results are not kept."""
    cache, whole = view.found(CompileCache), run_ns(view)
    if view.is_group or cache is None or cache.folder is not None or whole is None:
        return False
    compiled = view.beginning.compile_ns if view.beginning is not None else 0.0
    return compiled >= max(LONG_NS, SHARE * whole)
