"""The whole script, phase by phase; what is ours is left out, and the rest sums."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from fitdoctor.analysis.timeline import OWN, timeline
from fitdoctor.contract.host_looks import HostLook, HostPlace
from fitdoctor.contract.places import CodeLine
from fitdoctor.contract.records import (
    Event,
    EventDetail,
    ProbeRun,
    Recording,
)
from synthetic import MS, call_group, fit_workload, recording

S = 1_000 * MS


def plain(name: str, t: int, dur: int = 0) -> Event:
    return Event(name, t, dur, None, None, EventDetail())


def look(t: int, line: int) -> HostLook:
    return HostLook(t, HostPlace("/user/train.py", line, "main"))


def script(*events: Event, looks: tuple[HostLook, ...] = (), **probes: ProbeRun) -> Recording:
    """One second of imports, then a fit from 0.995 to 3 s after the start of its steps."""
    fit = replace(fit_workload(period=10 * MS, steps=200), probes=probes)
    begun = (plain("start", 0), *events)
    return replace(recording(fit, events=begun), looks=looks)


def test_without_a_start_nothing_is_said() -> None:
    assert timeline(recording(fit_workload())) == ()


def test_imports_training_and_the_rest_sum() -> None:
    found = timeline(script(plain("import", 0, S // 2)))
    assert [one.what for one in found] == ["fit", "imports", OWN]
    assert sum(one.share for one in found) == pytest.approx(1.0)
    assert found[0].where == CodeLine("/user/train.py", 88)


def test_modules_that_import_each_other_count_once() -> None:
    found = timeline(script(plain("import", 0, S // 2), plain("import", 100, S // 4)))
    (imports,) = [one for one in found if one.what == "imports"]
    assert imports.ns == S // 2


def test_examinations_are_not_the_users_time() -> None:
    probe = ProbeRun("frozen_batch", "ok", "", 2 * S, S // 2)
    with_probe = {one.what: one.ns for one in timeline(script(frozen_batch=probe))}
    without = {one.what: one.ns for one in timeline(script())}
    assert without["fit"] - with_probe["fit"] == S // 2


def test_own_code_is_named_by_its_lines() -> None:
    looks = tuple(look(n * 10 * MS, 40 if n % 4 else 50) for n in range(90))
    found = timeline(script(looks=looks))
    own = {one.where.line: one.share for one in found if one.what == OWN and one.where}
    assert own[40] == pytest.approx(3 * own[50], rel=0.1)


def test_calls_of_several_lines_are_phases_of_their_own() -> None:
    predicts = replace(call_group(calls=20, period=100 * MS, duration=90 * MS), number=2)
    moved = tuple(replace(call, t=call.t + 3 * S) for call in predicts.calls)
    both = recording(fit_workload(), replace(predicts, calls=moved), events=(plain("start", 0),))
    assert {"fit", "predict"} <= {one.what for one in timeline(both)}


@given(st.lists(st.tuples(st.integers(0, 4 * S), st.integers(0, S)), max_size=6))
def test_phases_always_sum_to_what_was_seen(spans: list[tuple[int, int]]) -> None:
    found = timeline(script(*(plain("import", t, dur) for t, dur in spans)))
    assert sum(one.share for one in found) == pytest.approx(1.0, abs=0.01)
    assert all(one.ns >= 0 for one in found)
