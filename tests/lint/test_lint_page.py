"""What is said of each pattern: an example in which it is found, and a measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.articles.registry import all_claims
from fitdoctor.lint.check import check_file
from fitdoctor.lint.lint_page import lint_page, section
from fitdoctor.lint.pattern import Pattern
from fitdoctor.lint.patterns import all_patterns
from fitdoctor.rules import all_rules

START = "import os\nimport keras\nimport numpy as np\nimport tensorflow as tf\n"
TRACED = "@tf.function\ndef train_step(x, n): return x\n"
RANDOM = "def augment(x): return tf.image.random_flip_left_right(x)\n"


@pytest.mark.parametrize("pattern", all_patterns(), ids=lambda pattern: type(pattern).__name__)
def test_the_example_is_found(tmp_path: Path, pattern: Pattern) -> None:
    file = tmp_path / "a.py"
    file.write_text(START + TRACED + RANDOM + pattern.example)
    assert {finding.code for finding in check_file(file)} == {pattern.code}


@pytest.mark.parametrize("pattern", all_patterns(), ids=lambda pattern: type(pattern).__name__)
def test_its_evidence_is_named(pattern: Pattern) -> None:
    assert pattern.evidence
    if pattern.measured_by:
        assert pattern.measured_by in {claim.id for claim in all_claims()}


def test_the_pages_hold_every_pattern() -> None:
    page = lint_page()
    for pattern in all_patterns():
        assert pattern.example in page and pattern.evidence in page
        assert pattern.evidence in section(pattern.code)
    assert section("EN001") == ""
    assert {pattern.code for pattern in all_patterns()} <= {rule.code for rule in all_rules()}
