"""One case per family and backend, through the whole chain.

Each cause costs 3x or more, so that one run with a modest budget decides.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from end_to_end.commands import diagnose

pytestmark = pytest.mark.end_to_end

CASEBOOK = Path(__file__).parents[2] / "casebook"
BUDGET = ("--budget", "16")

ALONE = pytest.mark.measures
FIRST_FINDING = [
    pytest.param("S09", "IN004", marks=ALONE),
    pytest.param("S01_jax", "IN001", marks=ALONE),
    pytest.param("S01_torch", "IN001", marks=ALONE),
    # These cost 10x and more: a neighbour does not change what is found first.
    ("S26", "HO004"),
    ("C17", "CO001"),  # on JAX; recording must not keep old compiled steps alive
]


def backend_of(case: str) -> str:
    return case.partition("_")[2] or "tensorflow"


@ALONE
@pytest.mark.parametrize("case", ["H01_jax", "H03_torch"])
def test_a_healthy_script_has_no_finding(case: str, tmp_path: Path) -> None:
    report = diagnose(CASEBOOK / case / "slow.py", tmp_path, *BUDGET, backend=backend_of(case))
    assert [f["rule"] for w in report["workloads"] for f in w["findings"]] == []
    assert {w["verdict"] for w in report["workloads"]} <= {"at-ceiling", "compute-bound"}


@pytest.mark.parametrize(("case", "expected"), FIRST_FINDING)
def test_the_cause_is_found_first(case: str, expected: str, tmp_path: Path) -> None:
    report = diagnose(CASEBOOK / case / "slow.py", tmp_path, *BUDGET, backend=backend_of(case))
    first = first_finding(report)
    assert first is not None, report
    assert first["rule"] == expected
    assert first["gain"]["low"] <= first["gain"]["ratio"] <= first["gain"]["high"]
    assert first["gain"]["ratio"] > 1.5
    assert first["where"]["file"].endswith("slow.py")
    check_contract(report)


def first_finding(report: dict) -> dict | None:
    found = [f for w in report["workloads"] for f in w["findings"]]
    return max(found, key=lambda f: f["gain"]["ratio"], default=None)


def check_contract(report: dict) -> None:
    """The parts of the JSON report that others rely on."""
    assert report["schema"] == 1
    for key in ("fitdoctor", "script", "machine", "keras", "overhead", "workloads", "joint_gain"):
        assert key in report
    for workload in report["workloads"]:
        shares = sum(part["share"] for part in workload["breakdown"])
        assert workload["breakdown"] == [] or abs(shares - 1) < 0.01
        gains = [f["gain"]["ratio"] for f in workload["findings"]]
        assert gains == sorted(gains, reverse=True)
        assert all(gain >= 1.05 for gain in gains)
