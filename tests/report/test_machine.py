from __future__ import annotations

import json
import math

from diagnoses import MS, bare_diagnosis, diagnosis, finding, healthy_workload, slow_workload

from fitdoctor.contract.records import Accelerator, DeviceProcess, Machine
from fitdoctor.findings.diagnosed import Health, Part, StepTime
from fitdoctor.intervals import Interval
from fitdoctor.report.machine import to_json, to_text


def test_a_healthy_script_has_no_findings() -> None:
    report = to_json(diagnosis(healthy_workload()))
    (workload,) = report["workloads"]
    assert workload["findings"] == []
    assert workload["verdict"] == "at-ceiling"
    assert workload["joint_gain"] is None
    assert report["joint_gain"] is None


def test_no_training_is_an_empty_list() -> None:
    assert to_json(diagnosis())["workloads"] == []


def test_what_is_missing_is_null() -> None:
    report = to_json(bare_diagnosis())
    (workload,) = report["workloads"]
    assert workload["where"] is None
    assert workload["step_ns"] is None
    assert workload["ceiling"] is None
    assert report["overhead"] == {"recorder_ratio": None}
    for name in ("cpus", "affinity", "cgroup_cpus", "memory_bytes", "cgroup_memory_bytes"):
        assert report["machine"][name] is None
    assert report["machine"]["accelerators"] == []
    assert report["keras"] == {"version": None, "backend": None, "backend_version": None}


def test_what_is_known_of_a_device_is_written() -> None:
    device = Accelerator(name="H200", processes=(DeviceProcess(5, "python"),))
    report = to_json(diagnosis(machine=Machine(cpus=2, accelerators=(device,))))
    assert report["machine"]["accelerators"] == [
        {
            "name": "H200",
            "memory_bytes": None,
            "clock_mhz": None,
            "processes": [{"pid": 5, "name": "python", "memory_bytes": None}],
        }
    ]


def test_numbers_that_are_not_finite_become_null() -> None:
    broken = healthy_workload(
        step=StepTime(math.nan, 1.0, math.inf),
        breakdown=(Part("unknown", math.nan, math.nan),),
        findings=(finding(gain=Interval(1.0, 0.5, math.inf), evidence={"x": math.nan}),),
    )
    report = diagnosis(broken, recorder_ratio=math.inf)
    text = to_text(report)
    data = json.loads(text, parse_constant=lambda word: 1 / 0)
    assert data["workloads"][0]["step_ns"] == {"median": None, "p10": 1, "p90": None}
    assert data["workloads"][0]["findings"][0]["gain"]["high"] is None
    assert data["workloads"][0]["findings"][0]["evidence"] == {"x": None}
    assert data["overhead"] == {"recorder_ratio": None}


def test_a_name_that_is_not_text_can_be_written() -> None:
    text = to_text(diagnosis(script="train\udcff\x1b[2J.py"))
    assert text.isascii()
    assert json.loads(text)["script"]["path"] == "train\udcff\x1b[2J.py"


def test_the_contract() -> None:
    health = (Health("error", "stopped early"),)
    report = to_json(diagnosis(slow_workload(), health=health, joint_gain=Interval(2.6, 2.1, 2.9)))
    assert report["schema"] == 1
    assert report["script"] == {"path": "train.py", "argv": ["--epochs", "1"]}
    keras = {"version": "3.15.1", "backend": "tensorflow", "backend_version": None}
    assert report["keras"] == keras
    assert report["health"] == [
        {"level": "error", "message": "stopped early", "command": "", "rule": None}
    ]
    assert report["joint_gain"] == {"ratio": 2.6, "low": 2.1, "high": 2.9}
    (workload,) = report["workloads"]
    assert workload["kind"] == "fit"
    assert workload["where"] == {"file": "/work/project/train.py", "line": 88}
    assert workload["steps"] == 412
    assert workload["step_ns"] == {"median": 148 * MS, "p10": 140 * MS, "p90": 162 * MS}
    assert workload["breakdown"][0] == {
        "part": "input_wait",
        "ns_per_step": 96 * MS,
        "share": 0.65,
    }
    assert workload["ceiling"] == {
        "step_ns": 41 * MS,
        "gain": {"ratio": 3.6, "low": 3.2, "high": 3.9},
    }
    assert [item["rule"] for item in workload["findings"]] == ["IN002", "CB001"]
    assert set(workload["findings"][0]) == {
        "rule",
        "name",
        "where",
        "message",
        "evidence",
        "gain",
        "other_cures",
        "cure",
    }
    assert isinstance(workload["step_ns"]["median"], int)
