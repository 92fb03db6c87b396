"""What a rule is: one file with a page, a detector, a price and a cure."""

from __future__ import annotations

import abc
import ast
import inspect
import re
import sys
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import ClassVar

from fitdoctor.analysis.view import View
from fitdoctor.findings.finding import Cure, Finding, How, Safety, Scope
from fitdoctor.findings.place import Where, place_of
from fitdoctor.intervals import Interval
from fitdoctor.pricing.joint import gain
from fitdoctor.rules.page import page

EvidenceValue = float | int | str | bool | None


class Rule(abc.ABC):
    """A pattern that makes training slow, recognised by measured evidence.

    The docstring of a rule's file is its page, whose first line `# name (CODE)` names the rule.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    page: ClassVar[str]
    summary: ClassVar[str]
    safety: ClassVar[Safety]
    # Where the page takes numbers from that are no constants of the rule's own file.
    numbers_from: ClassVar[tuple[ModuleType, ...]] = ()
    # Codes of rules that say more about the same time: beside one of them this one is silent.
    explained_by: ClassVar[frozenset[str]] = frozenset()
    # Rules with the same word here explain the same waiting in different ways: one is right, the
    # one with the largest gain.
    rivals_over: ClassVar[str] = ""
    # Listed only where no other rule found anything.
    is_last_resort: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        file = sys.modules[cls.__module__]
        # `python -OO` drops docstrings.
        text = file.__doc__ or ast.get_docstring(ast.parse(inspect.getsource(file)), clean=False)
        cls.page = page(text, ChainMap(*map(vars, (file, *cls.numbers_from))))
        heading = re.match(r"# ([a-z-]+) \(([A-Z]+\d+)\)\n", cls.page)
        if heading is None:
            raise TypeError(f"the docstring of {file.__name__} must begin with '# name (CODE)'")
        cls.name, cls.code = heading.groups()

    @abc.abstractmethod
    def detect(self, view: View) -> Finding | None:
        """The finding with its predicted gain, or None where the evidence does not hold."""

    def is_explained(
        self, finding: Finding, others: Sequence[Finding], kept: Sequence[Finding]
    ) -> bool:
        """Whether other findings say more about the same time.

        Args:
            finding: this rule's own.
            others: all other findings of the workload.
            kept: those among them with a larger gain that stay listed.
        """
        return any(other.rule in self.explained_by for other in others)

    def finding(
        self,
        view: View,
        message: str,
        cure: Cure,
        *,
        saves: Mapping[str, Interval] | None = None,
        predicted: Interval | None = None,
        where: Where | None = None,
        partly: Finding | None = None,
        evidence: Mapping[str, EvidenceValue] | None = None,
        how: How = "modelled",
        scope: Scope = "step",
        is_warning: bool = False,
    ) -> Finding:
        """What every finding repeats: code, name, place of the workload, gain from what is saved.

        Args:
            view: the workload.
            message: what was measured, in a sentence.
            cure: what to change.
            saves: nanoseconds per step taken from each part of the step.
            predicted: the gain, where it does not follow from `saves`.
            where: the place, if not the line that trains.
            partly: what an edit can do where the cure is advice.
            evidence: the numbers that the finding rests on.
            how: the gain is known.
            scope: of what it is a gain.
            is_warning: it takes no time yet.
        """
        saved = dict(saves or {})
        if predicted is None:
            predicted = gain(view.costs.total, sum(saved.values(), start=Interval.exact(0.0)))
        return Finding(
            rule=self.code,
            name=self.name,
            where=where if where is not None else place_of(view.recorded),
            message=message,
            gain=predicted,
            cure=cure,
            evidence=dict(evidence or {}),
            saves=saved,
            partly=partly,
            how=how,
            scope=scope,
            is_warning=is_warning,
        )


def with_cure(view: View, found: Finding, cure: Cure, saved: Interval) -> Finding:
    """The same cause with another cure of the input, and what that one saves per step.

    What an edit can do where the whole cure is advice.
    """
    predicted = gain(view.costs.total, saved)
    return replace(found, gain=predicted, cure=cure, saves={"input_wait": saved})
