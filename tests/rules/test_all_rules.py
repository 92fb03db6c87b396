"""What holds for every rule, whatever it finds."""

from __future__ import annotations

import re

import pytest

from fitdoctor.findings.ranking import FAMILIES
from fitdoctor.rules import all_rules
from synthetic import MS, call_group, fit_workload, view, windows

SECTIONS = (
    "What it finds",
    "Why it is slow",
    "Evidence",
    "Predicted gain",
    "Example",
    "Use instead",
    "Fix safety",
    "When not to",
)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_has_a_whole_page(rule) -> None:
    assert re.fullmatch(r"[A-Z]{2}\d{3}", rule.code)
    assert rule.code[:2] in FAMILIES
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert rule.page.startswith(f"# {rule.name} ({rule.code})")
    for section in SECTIONS:
        assert f"\n## {section}\n" in rule.page
    assert rule.safety in ("safe", "unsafe", "advice")


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_is_silent_where_nothing_was_probed(rule) -> None:
    assert rule.detect(view(fit_workload())) is None
    assert rule.detect(view(call_group())) is None


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_rule_is_silent_on_a_step_at_its_ceiling(rule) -> None:
    healthy = fit_workload(period=100 * MS, step=99 * MS, probes={"frozen_batch": windows(99 * MS)})
    assert rule.detect(view(healthy)) is None


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_no_rule_recommends_a_known_false_friend(rule) -> None:
    after = rule.page.split("## Use instead")[1].split("## Fix safety")[0]
    assert "clear_session" not in rule.page
    assert "prefetch(" not in after
