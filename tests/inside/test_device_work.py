from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from fitdoctor.inside.seams.backends.device_work import device_work, union
from fitdoctor.inside.seams.not_available import NotAvailable

spans = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 200)).map(lambda pair: (pair[0], sum(pair)))
)


@given(spans)
def test_streams_at_the_same_time_count_once(given_spans: list[tuple[int, int]]) -> None:
    covered = {t for begin, end in given_spans for t in range(begin, end)}
    assert union(given_spans) == len(covered)


def test_tensorflow_is_not_read() -> None:
    with pytest.raises(NotAvailable, match="tensorflow"):
        device_work("tensorflow", lambda: None)


def test_jax_opens_and_reads_its_profile() -> None:
    """On a CPU it holds no kernel, but all of the seam is walked through."""
    pytest.importorskip("jax")
    ran = []
    with pytest.raises(NotAvailable, match="no work on the device"):
        device_work("jax", lambda: ran.append(1))
    assert ran == [1]


def test_torch_without_a_gpu_says_so() -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(NotAvailable, match="torch sees no GPU"):
        device_work("torch", lambda: None)


def test_events_of_torch_are_what_is_read_of_them() -> None:
    torch = pytest.importorskip("torch")
    assert "CUDA" in str(torch.autograd.DeviceType.CUDA)
    activity = torch.profiler.ProfilerActivity
    assert activity.CUDA is not None
    with torch.profiler.profile(activities=[activity.CPU]) as profile:
        torch.ones(3) + 1
    event = profile.events()[0]
    assert "CPU" in str(event.device_type)
    assert event.time_range.end >= event.time_range.start > 0
    assert isinstance(event.name, str)
