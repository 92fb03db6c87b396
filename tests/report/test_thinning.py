"""No extreme value is lost, whatever is grouped."""

from __future__ import annotations

from hypothesis import given, strategies as st

from fitdoctor.report.html.thinning import rounded, thin, with_gaps

VALUES = st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=300)


def test_short_series_are_left_alone() -> None:
    short = thin([0.0, 1.0], [5.0, None], most=2)
    assert (short.x, short.middle, short.group) == ([0.0, 1.0], [5.0, None], 1)
    assert not short.is_thinned


@given(y=VALUES, most=st.integers(1, 50))
def test_extremes_and_order_survive(y: list[float | None], most: int) -> None:
    x = [float(i) for i in range(len(y))]
    thinned = thin(x, y, most)
    assert len(thinned.x) <= most or thinned.group == 1
    assert thinned.x == sorted(thinned.x)
    known = [v for v in y if v is not None]
    assert max((v for v in thinned.high if v is not None), default=None) == max(known, default=None)
    assert min((v for v in thinned.low if v is not None), default=None) == min(known, default=None)
    for low, middle, high in zip(thinned.low, thinned.middle, thinned.high, strict=True):
        if middle is not None and low is not None and high is not None:
            assert low <= middle <= high


def test_missing_stays_missing_when_rounded() -> None:
    assert rounded([None, 123456.0, 0.0]) == [None, 123500.0, 0.0]


def test_no_line_is_drawn_across_a_pause() -> None:
    short = thin([0.0, 1.0, 9.0, 10.0], [5.0, 7.0, 6.0, 8.0])
    holed = with_gaps(short, [1])
    assert holed.x == [0.0, 1.0, 5.0, 9.0, 10.0]
    assert holed.middle == [5.0, 7.0, None, 6.0, 8.0]
    assert with_gaps(short, []) == short
    assert with_gaps(short, [3]) == short  # nothing follows the last one
    grouped = with_gaps(thin(short.x, short.middle, most=2), [1])
    assert (grouped.x, grouped.middle, grouped.group) == ([0.0, 4.5, 9.0], [6.0, None, 7.0], 2)
