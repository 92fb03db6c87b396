from __future__ import annotations

import json

from fitdoctor.cli.live import Status

MS = 1_000_000


def steps(wait: int | None, *, graph_wait: int | None = None, callbacks: int = 0) -> bytes:
    record = {
        "k": "steps",
        "n": 1,
        "t": [i * 10 * MS for i in range(11)],
        "step": [9 * MS] * 11,
        "wait": [wait] * 11,
        "callbacks": [callbacks] * 11,
    }
    if graph_wait is not None:
        record["graph_wait"] = graph_wait
    return json.dumps(record).encode()


def test_nothing_before_the_first_steps() -> None:
    status = Status()
    status.add(b'{"k":"progress"}')
    status.add(b'{"k":"steps","t":[1]}')
    status.add(b'{"k":"steps" torn')
    assert status.text() == ""


def test_a_line_of_steps_that_wait() -> None:
    status = Status()
    status.add(steps(6 * MS))
    assert status.text() == (
        "11 steps · 10.0 ms a step · waiting for data 66 % · step 34 % · looks input-bound"
    )


def test_the_wait_inside_the_graph() -> None:
    status = Status()
    status.add(steps(None, graph_wait=5 * MS))
    assert "waiting for data 5 %" in status.text()
    assert status.text().endswith("the step takes the time")


def test_callbacks() -> None:
    status = Status()
    status.add(steps(0, callbacks=5 * MS))
    assert status.text().endswith("looks callback-bound")


def test_cores_and_memory() -> None:
    status = Status()
    status.add(steps(0))
    for t, cpu in ((0, 0), (10**9, 15 * 10**8)):
        sample = {"k": "sample", "t": t, "cpu_ns": cpu, "rss": 2 * 10**9, "cores": [50, 60]}
        status.add(json.dumps(sample).encode())
    assert "1.5 of 2 cores · 2.00 GB" in status.text()


def test_the_panel_says_the_verdict_first() -> None:
    status = Status()
    assert status.lines()[0] == "fitdoctor · no step yet"
    status.add(steps(6 * MS))
    first, bars, _ = status.lines()
    assert first == "fitdoctor · looks input-bound · 11 steps · 10.0 ms a step"
    assert bars == f"  waiting for data 66 % {'█' * 13}   step 34 % {'█' * 7}"


def test_a_busy_gpu_is_told() -> None:
    status = Status()
    status.add(steps(0))
    for t in (0, 10**9):
        sample = {"k": "sample", "t": t, "gpu": [{"util": 45}, {"util": None}]}
        status.add(json.dumps(sample).encode())
    assert "GPU 0 45 %" in status.text() and "GPU 1" not in status.text()
