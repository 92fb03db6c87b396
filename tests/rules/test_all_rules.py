"""What holds for every rule, whatever it finds."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.findings.ranking import FAMILIES as VERDICTS
from fitdoctor.rules import FAMILIES, all_rules
from fitdoctor.rules.rule import Rule
from synthetic import MS, call_group, fit_workload, timed, view

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
PREFIXES = {
    "input": "IN",
    "host": "HO",
    "compilation": "CO",
    "callbacks": "CB",
    "model": "MO",
    "environment": "EN",
}
RULES = all_rules()
CODES = {rule.code for rule in RULES}
FIELD = re.compile(r"\$\{[^}]*\}")
# A number by itself or with a unit; not the digits of `float32`, HO003 or code in backticks.
LITERAL = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*\s?(?:%|×|[a-zµ]+\b)?")

every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)


def family_and_file(rule: Rule) -> tuple[str, str]:
    """`fitdoctor.rules.host.tiny_steps` is ("host", "tiny_steps")."""
    _, _, family, file = type(rule).__module__.split(".")
    return family, file


def docstring(rule: Rule) -> str:
    """The page as it is written, before its numbers are filled in."""
    return sys.modules[type(rule).__module__].__doc__ or ""


def section(page: str, name: str) -> str:
    return page.split(f"\n## {name}\n")[1].split("\n## ")[0]


def literal_numbers(text: str) -> list[str]:
    """Numbers that do not come from a constant."""
    return LITERAL.findall(re.sub(r"`[^`]*`", "", FIELD.sub("", text)))


def test_every_family_has_its_prefix_and_its_verdict() -> None:
    assert set(PREFIXES) == set(FAMILIES)
    assert set(PREFIXES.values()) == set(VERDICTS)


@every_rule
def test_code_name_folder_and_file_agree(rule: Rule) -> None:
    family, file = family_and_file(rule)
    assert re.fullmatch(r"[A-Z]{2}\d{3}", rule.code)
    assert rule.code[:2] == PREFIXES[family]
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", rule.name)
    assert file == rule.name.replace("-", "_")


def test_no_two_rules_have_the_same_name() -> None:
    assert [name for name, count in Counter(r.name for r in RULES).items() if count > 1] == []


@every_rule
def test_a_rule_has_a_whole_page(rule: Rule) -> None:
    assert rule.page.startswith(f"# {rule.name} ({rule.code})\n")
    headings = re.findall(r"^## (.+)$", rule.page, re.MULTILINE)
    assert tuple(headings) == SECTIONS
    for name in SECTIONS:
        assert section(rule.page, name).strip()
    assert rule.summary
    assert rule.safety in ("safe", "unsafe", "advice")


def test_the_page_must_name_the_rule() -> None:
    with pytest.raises(TypeError, match="must begin with '# name \\(CODE\\)'"):
        type("Nameless", (Rule,), {"__module__": __name__})


def test_pages_are_there_where_python_drops_docstrings() -> None:
    code = "from fitdoctor.rules import all_rules; print(*(r.page for r in all_rules()), sep='')"
    printed = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True)
    assert printed.stdout == "".join(rule.page for rule in RULES) + "\n", printed.stderr


@every_rule
def test_every_number_of_a_page_is_filled_in(rule: Rule) -> None:
    fields = FIELD.findall(docstring(rule))
    assert [field for field in fields if not re.fullmatch(r"\$\{[A-Z]\w*(:[a-z]+)?\}", field)] == []
    assert "${" not in rule.page


@pytest.mark.parametrize(
    "text",
    [
        "gains 5 % or more",
        "below 1.15 of it",
        "20 ms",
        "3x",
        "at most 1,500 calls",
        "8 steps",
        "2×",
    ],
)
def test_a_literal_number_is_recognised(text: str) -> None:
    assert len(literal_numbers(text)) == 1


@pytest.mark.parametrize(
    "text",
    ["gains ${WORTH_GAIN:gain} or more", "cast to float32", "see HO003", "`verbose=2` and `x[0]`"],
)
def test_what_is_no_literal_number(text: str) -> None:
    assert literal_numbers(text) == []


@every_rule
def test_thresholds_of_the_evidence_come_from_constants(rule: Rule) -> None:
    found = literal_numbers(section(docstring(rule), "Evidence"))
    assert found == [], f"{rule.code}: write ${{CONSTANT:form}} instead of {found}"


@every_rule
def test_every_rule_has_a_test_file_of_its_own(rule: Rule) -> None:
    family, file = family_and_file(rule)
    assert (Path(__file__).parent / family / f"test_{file}.py").is_file()


@every_rule
def test_what_explains_a_rule_is_known(rule: Rule) -> None:
    assert rule.explained_by <= CODES - {rule.code}


def test_no_rule_rivals_itself_alone() -> None:
    rivals = Counter(rule.rivals_over for rule in RULES if rule.rivals_over)
    assert [word for word, count in rivals.items() if count < 2] == []


@every_rule
def test_every_rule_is_silent_where_nothing_was_probed(rule: Rule) -> None:
    assert rule.detect(view(fit_workload())) is None
    assert rule.detect(view(call_group())) is None


@every_rule
def test_every_rule_is_silent_on_a_step_at_its_ceiling(rule: Rule) -> None:
    healthy = fit_workload(period=100 * MS, step=99 * MS, found=[timed(FrozenBatch, 99 * MS)])
    assert rule.detect(view(healthy)) is None


@every_rule
def test_no_rule_recommends_a_known_false_friend(rule: Rule) -> None:
    assert "clear_session" not in rule.page
    assert "prefetch(" not in section(rule.page, "Use instead")
