"""Every prediction in `benchmarks/results/` beside the gain that was proven afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fitdoctor.pricing.calibration import SEVERAL
from fitdoctor.pricing.scores import SCRIPT, score

RESULTS = Path(__file__).parent / "results"
CASEBOOKS = ("casebook", "casebook_input", "casebook_other")
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Scored:
    """One prediction and what became of it."""

    source: str  # the file of benchmarks/results
    case: str
    rule: str
    how: str  # `modelled`, `tried`, `script`; "" where the row does not say
    backend: str
    predicted: float
    low: float | None  # the interval that was given; None where it was not kept
    high: float | None
    proven: float
    commit: str
    date: str
    machine: str

    @property
    def score(self) -> float:
        """How far it was off (`fitdoctor.pricing.scores`)."""
        return score(self.predicted, self.proven, self.how)

    @property
    def script(self) -> str:
        """The casebook has one cause on several backends, and benchmarks share its cases."""
        return self.case.split("_")[0] if self.source not in ("first_sight",) else self.case

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "score": round(self.score, 4)}


def history(folder: Path = RESULTS) -> list[Scored]:
    """All scored predictions of gains that fitdoctor's own cure, or the case's fix, then showed."""
    found = [*_cures(folder), *_casebooks(folder), *_trials(folder)]
    return sorted(found, key=lambda one: (one.source, one.case, one.rule, one.how, one.predicted))


def _rows(folder: Path, name: str) -> list[dict[str, Any]]:
    path = folder / f"{name}.json"
    if not path.exists():
        return []
    report = json.loads(path.read_text(encoding="utf-8"))
    shared = {key: report[key] for key in ("date", "machine", "commit") if key in report}
    rows = report.get("rows", report.get("cases", []))
    return [{**shared, **row} for row in rows]


def _cures(folder: Path) -> Iterator[Scored]:
    for row in _rows(folder, "cures"):
        for level in ("safe", "unsafe"):
            proof = row[level]
            if proof and proof["achieved"] and proof["predicted"]:
                rules = {line.split()[0] for line in proof["cures"]}
                rule = rules.pop() if len(rules) == 1 else SEVERAL
                how = proof["predicted"].get("how", "")
                yield _scored("cures", row, rule, how, proof["predicted"], proof["achieved"])


def _casebooks(folder: Path) -> Iterator[Scored]:
    for name in CASEBOOKS:
        for row in _rows(folder, name):
            run = row.get("as_run") or row
            if run.get("predicted") and run.get("real"):
                rule = row["expect"]
                yield _scored(name, row, rule, "", run["predicted"], run["real"])


def _trials(folder: Path) -> Iterator[Scored]:
    for row in _rows(folder, "trials"):
        yield _scored("trials", row, row["rule"], SCRIPT, row["tried"], row["achieved"])
        before = row["modelled"]
        if before is not None and before["how"] != "bound":
            yield _scored("trials", row, row["rule"], before["how"], before, row["achieved"])


def unseen(folder: Path = RESULTS) -> list[Scored]:
    """First findings on scripts that fitdoctor was not made for, beside what an expert gained.

    The expert's change need not be the finding's cure, and was timed on a busy machine: these
    rows are shown, and no width is made from them.
    """
    found = []
    for path in sorted(folder.glob("first_sight*.json")):
        for row in _rows(folder, path.stem):
            if row["is_right"] and row.get("expert") and row.get("findings"):
                first = row["findings"][0]
                if first["gain"] and first["gain"]["how"] != "bound":
                    proven = {"ratio": row["expert"]}
                    case = {**row, "id": row["script"]}
                    gain = first["gain"]
                    found.append(
                        _scored("first_sight", case, first["rule"], gain["how"], gain, proven)
                    )
    return found


def _scored(
    source: str,
    row: dict[str, Any],
    rule: str,
    how: str,
    predicted: dict[str, Any],
    proven: dict[str, Any],
) -> Scored:
    machine = row.get("machine", UNKNOWN)
    if isinstance(machine, dict):
        machine = f"{machine['cpus']} cores, {machine['platform']}"
    return Scored(
        source=source,
        case=row["id"],
        rule=rule,
        how=how,
        backend=row.get("backend") or _backend_of(row["id"]),
        predicted=predicted["ratio"],
        low=predicted.get("low"),
        high=predicted.get("high"),
        proven=round(proven["ratio"], 3),
        commit=row.get("commit", UNKNOWN),
        date=str(row.get("date", UNKNOWN))[:10],
        machine=machine,
    )


def _backend_of(case: str) -> str:
    """Cases are named after their backend where it is not TensorFlow, up to S03_grain's (JAX)."""
    _, _, name = case.partition("_")
    return {"torch": "torch", "jax": "jax", "grain": "jax"}.get(name, "tensorflow")
