"""The published schema and what is really written."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from diagnoses import bare_diagnosis, diagnosis, healthy_workload, slow_workload
from hostile import hostile_recording

from fitdoctor.contract.evidence.step import FrozenBatch
from fitdoctor.contract.reader import read_recording
from fitdoctor.diagnosis import diagnose
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.report.machine import to_json
from synthetic import MS, call_group, fit_workload, recording, timed

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "docs" / "report.schema.json").read_text(encoding="utf-8")
)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_it_refuses_what_is_no_report() -> None:
    report = to_json(diagnosis(slow_workload()))
    for wrong in ({}, {**report, "schema": 2}, {**report, "workloads": [{}]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)


@pytest.mark.parametrize(
    "found",
    [
        diagnosis(),
        bare_diagnosis(),
        diagnosis(healthy_workload()),
        diagnosis(slow_workload()),
        diagnose(recording(fit_workload(wait=MS, found=[timed(FrozenBatch, 9 * MS)]))),
        diagnose(recording(call_group())),
    ],
)
def test_reports_fit(found: Diagnosis) -> None:
    jsonschema.validate(to_json(found), SCHEMA)


def test_a_recording_full_of_nonsense_fits(tmp_path: Path) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=True))
    jsonschema.validate(to_json(diagnose(made)), SCHEMA)
