"""Gradients that are computed several times, or that no optimizer uses."""

from __future__ import annotations

from fitdoctor.analysis.gradient_passes import gradient_passes
from fitdoctor.analysis.view import View
from fitdoctor.contract.evidence.loop import IdleGradients
from fitdoctor.contract.evidence.operations import Operations
from fitdoctor.findings.finding import Cure, Finding
from fitdoctor.intervals import Interval
from fitdoctor.pricing.model_change import WORTH_CHANGE, tried_change
from fitdoctor.rules.rule import Rule
from fitdoctor.units import percent

# Shares under a profiler are roughly those without it.
LEAST_OF_IT, MOST_OF_IT = 0.67, 1.1


def needless_gradients(rule: Rule, view: View) -> Finding | None:
    """As a finding of this rule."""
    return _idle(rule, view) or _several(rule, view)


def _idle(rule: Rule, view: View) -> Finding | None:
    """The loop was tried without the gradients that no optimizer uses."""
    trial = view.found(IdleGradients)
    tried = tried_change(view, view.left_by(IdleGradients), WORTH_CHANGE)
    if trial is None or tried is None:
        return None
    share = trial.weights / max(1, trial.of_weights)
    return rule.finding(
        view,
        f"{percent(share)} of the weights ({trial.name} and more) get gradients that no optimizer "
        f"uses: {tried.in_words('with them', 'without them')}",
        Cure(
            "safe",
            "freeze these layers: layer.trainable = False before the loop, or run their forward "
            "pass under torch.no_grad()",
        ),
        saves=tried.saves,
        evidence={**tried.evidence("without_ns"), "idle_weights": trial.weights},
        how="tried",
    )


def _several(rule: Rule, view: View) -> Finding | None:
    """Layers are gone back through several times for each time that they are computed."""
    seen = view.found(Operations)
    passes = gradient_passes(seen) if seen is not None else None
    if seen is None or passes is None or view.frozen is None:
        return None
    share = min(1.0, passes.needless_ns / max(1.0, seen.whole_ns))
    needless = Interval(share, share * LEAST_OF_IT, min(1.0, share * MOST_OF_IT))
    tried = tried_change(view, Interval.exact(1.0).minus(needless), WORTH_CHANGE)
    if tried is None:
        return None
    return rule.finding(
        view,
        f"gradients go back through {passes.layers} layers {passes.passes:.0f} times for every "
        f"time that these are computed, {percent(share)} of the step more than one pass",
        Cure("advice", "add the losses up, each times its weight, and take one gradient"),
        saves=tried.saves,
        evidence={"passes": round(passes.passes, 1), "needless_share": round(share, 3)},
        how="modelled",
    )
