from dataclasses import replace

import pytest

from fitdoctor.contract.evidence.ranks import RankTime, RankTimes
from fitdoctor.rules.environment.uneven_ranks import RULE
from synthetic import MS, fit_workload, view

FAST = RankTime(0, 200, before_ns=5 * MS, wait_ns=5 * MS, callbacks_ns=0, step_ns=25 * MS)
SLOW = RankTime(1, 200, before_ns=25 * MS, wait_ns=25 * MS, callbacks_ns=0, step_ns=5 * MS)
UNEVEN = RankTimes((FAST, SLOW), 1, 200, 20 * MS, 18 * MS, 22 * MS, sync_ns=20 * MS)


def seen(found: RankTimes):
    return view(fit_workload(period=30 * MS, step=5 * MS, wait=25 * MS, found=[found]))


def test_silent_without_other_ranks() -> None:
    assert RULE.detect(view(fit_workload(period=30 * MS, step=5 * MS, wait=25 * MS))) is None


def test_silent_where_the_interval_reaches_down_to_little() -> None:
    assert RULE.detect(seen(replace(UNEVEN, late_low_ns=1 * MS))) is None


def test_silent_where_the_others_do_not_wait() -> None:
    """Processes that train models of their own: one is slower, and nobody minds."""
    assert RULE.detect(seen(replace(UNEVEN, sync_ns=1 * MS))) is None


def test_fires_with_its_gain() -> None:
    finding = RULE.detect(seen(UNEVEN))
    assert finding is not None
    assert finding.gain.value == pytest.approx(3.0, rel=0.05)
    assert finding.gain.low < finding.gain.value < finding.gain.high
    assert "rank 1 of 2 comes 20.0 ms later" in finding.message
    assert "its loader is slower" in finding.message


@pytest.mark.parametrize(
    ("slow", "words"),
    [
        (replace(SLOW, wait_ns=5 * MS, callbacks_ns=20 * MS), "its callbacks take longer"),
        (replace(SLOW, wait_ns=None), "its own code between steps"),
    ],
)
def test_what_makes_it_late(slow: RankTime, words: str) -> None:
    finding = RULE.detect(seen(replace(UNEVEN, ranks=(FAST, slow))))
    assert finding is not None
    assert words in finding.message
