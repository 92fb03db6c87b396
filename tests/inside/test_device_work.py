from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from fitdoctor.contract.evidence.device import DeviceTime
from fitdoctor.inside.seams.backends import device_work as device_work_module
from fitdoctor.inside.seams.backends.device_work import device_work, union
from fitdoctor.inside.seams.not_available import NotAvailable
from fitdoctor.inside.seams.operations.xspace import XPLANE

spans = st.lists(
    st.tuples(st.integers(0, 1000), st.integers(0, 200)).map(lambda pair: (pair[0], sum(pair)))
)


@given(spans)
def test_streams_at_the_same_time_count_once(given_spans: list[tuple[int, int]]) -> None:
    covered = {t for begin, end in given_spans for t in range(begin, end)}
    assert union(given_spans) == len(covered)


def test_a_backend_without_a_reader_says_so() -> None:
    with pytest.raises(NotAvailable, match="theano"):
        device_work("theano", lambda: None)


def test_tensorflow_opens_and_reads_its_profile() -> None:
    """On a CPU it holds no kernel, but all of the seam is walked through."""
    pytest.importorskip("tensorflow")
    ran = []
    with pytest.raises(NotAvailable, match="no work on the device"):
        device_work("tensorflow", lambda: ran.append(1))
    assert ran == [1]


def test_tensorflow_counts_kernels_and_copies_of_the_streams_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    xplane = pytest.importorskip(XPLANE)
    space = xplane.XSpace()
    plane = space.planes.add(name="/device:GPU:0")
    for number, name in enumerate(("gemm", "MemcpyH2D", "train_step"), start=1):
        plane.event_metadata[number].id = number
        plane.event_metadata[number].name = name
    lines = {
        "Stream #1(Compute)": [(1, 0, 4_000), (1, 6_000, 9_000)],
        "Stream #2(MemcpyH2D)": [(2, 2_000, 7_000)],
        "XLA Modules": [(3, 0, 20_000)],
    }
    for title, events in lines.items():
        line = plane.lines.add(name=title, timestamp_ns=1_000)
        for kind, begin, end in events:
            line.events.add(
                metadata_id=kind, offset_ps=begin * 1000, duration_ps=1000 * (end - begin)
            )
    host = space.planes.add(name="/host:CPU")
    host.lines.add(name="Stream of a thread").events.add(duration_ps=1_000_000)
    monkeypatch.setattr(device_work_module, "traced", lambda run: space.SerializeToString())
    seen = device_work("tensorflow", lambda: None)
    assert seen == DeviceTime(busy_ns=9_000, compute_ns=7_000, copy_ns=5_000, kernels=2)


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
