from __future__ import annotations

from dataclasses import replace

from fitdoctor.proof.timeline import timeline_of
from synthetic import MS, event, fit_workload, recording


def test_the_clock_stands_still_while_tensorflow_waits_between_epochs() -> None:
    plain = fit_workload(period=10 * MS, step=9 * MS, steps=100)
    block = plain.blocks[0]
    late = tuple(t + (700 * MS if i >= 50 else 0) for i, t in enumerate(block.t))
    call = replace(plain.calls[0], dur=plain.calls[0].dur + 700 * MS)
    waited = event("iterator_wait", late[50] - 700 * MS, 700 * MS)
    unknown = replace(plain, blocks=(replace(block, t=late),), calls=(call,))
    known = replace(unknown, events=(waited,))

    times = {}
    for name, workload in (("plain", plain), ("unknown", unknown), ("known", known)):
        timeline = timeline_of(recording(workload))
        assert timeline is not None
        times[name] = timeline.time_at(100) - timeline.time_at(0)
    assert times["unknown"] == times["plain"] + 700 * MS
    assert times["known"] == times["plain"]
