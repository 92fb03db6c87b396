from __future__ import annotations

import pytest

from fitdoctor.contract.evidence.attention import FusedAttention
from fitdoctor.findings.edits import DropKeyword
from fitdoctor.findings.place import ANYWHERE, Where
from fitdoctor.rules.model.unfused_attention import RULE
from synthetic import MS, model_view, noisy, timed


def tried(fused: float, *reasons: str):
    """A step of 10 ms, and with fused attention."""
    found = timed(
        FusedAttention,
        fused,
        base_ns=noisy(10 * MS),
        types=("MultiHeadAttention",),
        reasons=reasons,
    )
    return model_view(step=10 * MS, found=[found])


def test_silent_where_it_was_not_tried() -> None:
    assert RULE.detect(model_view()) is None


@pytest.mark.parametrize("fused", [9.5 * MS, 10 * MS, 14 * MS])
def test_silent_where_the_fused_path_is_no_faster(fused: float) -> None:
    assert RULE.detect(tried(fused, "dropout")) is None


def test_the_trial_is_the_gain() -> None:
    finding = RULE.detect(tried(5 * MS, "dropout"))
    assert finding is not None
    assert finding.gain.value == pytest.approx(2.0, rel=0.05)
    assert finding.how == "tried"
    assert "with attention dropout in MultiHeadAttention a step takes 10.0 ms" in finding.message
    file = Where("/user/train.py", ANYWHERE)
    assert finding.cure.edits == (DropKeyword(file, "MultiHeadAttention", "dropout"),)


def test_scores_are_left_to_their_reader() -> None:
    finding = RULE.detect(tried(5 * MS, "dropout", "return_attention_scores"))
    assert finding is not None
    assert finding.cure.edits == ()
    assert "attention dropout and returned scores" in finding.message
