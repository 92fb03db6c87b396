"""What fitdoctor's own cures achieve on the casebook, beside the expert's.

    python -m benchmarks.cures [CASE ...] [--budget 40] [--window 3] [--fresh] [--keep DIR]

For each case, `fitdoctor run` examines slow.py once. `fitdoctor fix --apply` writes the safe cures,
then the unsafe ones as well; each text that this gives is proven against slow.py by `fitdoctor
prove --from`, with its data and learning compared. At last `fitdoctor prove fixed.py cured.py` runs
the expert's script and the cured one side by side: the ratio of their times is the share of the
expert's gain that was reached. Where the two are the same program, that share is one, and nothing
is run. Cases whose cure cannot be automatic say why, and are not counted. Rows of cases that are
not asked for are kept.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from casebook.case import Case, load_all
from casebook.process import Finished, last_line, run_process

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "cures.json"
LIMIT_S = 600.0
AS_GOOD = 0.9  # of the expert's speed-up
PACK = ("--pack", "packs")  # a folder, for cures that store data
LEVELS: dict[str, tuple[str, ...]] = {"safe": PACK, "unsafe": ("--unsafe", *PACK)}
SAME_PROGRAM = {"ratio": 1.0, "low": 1.0, "high": 1.0, "from": "the expert's very program"}

Row = dict[str, Any]


def main() -> int:
    """Measure, print, write; the rows so far are kept when a later case fails."""
    options = _parser().parse_args()
    cases = load_all(ROOT / "casebook")
    here = [case for case in cases.values() if not case.is_healthy and not case.needs]
    rows: dict[str, Row] = {} if options.fresh else _kept(options.output)
    limits = ["--budget", str(options.budget), "--window", str(options.window)]
    limits += ["--precision", str(options.precision)]
    for name in options.cases or [case.id for case in here]:
        rows[name] = measured(cases[name], limits, options.keep, options.examine)
        print(_line(rows[name]), flush=True)
        _write(rows, options.output)
    print(_summary(list(rows.values())))
    return 0


def _kept(path: Path) -> dict[str, Row]:
    if not path.exists():
        return {}
    return {row["id"]: row for row in json.loads(path.read_text(encoding="utf-8"))["rows"]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--budget", type=float, default=40.0, help="seconds of each proof")
    parser.add_argument("--window", type=float, default=3.0, help="seconds of training of a run")
    parser.add_argument("--precision", type=float, default=10.0, help="percent of the interval")
    parser.add_argument("--examine", type=float, help="seconds of training to examine")
    parser.add_argument("--fresh", action="store_true", help="forget the rows of other cases")
    parser.add_argument("--keep", type=Path, help="a folder for recordings and cured scripts")
    parser.add_argument("--output", type=Path, default=RESULT)
    return parser


@dataclass(frozen=True)
class Bench:
    """One case in a folder of its own."""

    case: Case
    folder: Path
    limits: list[str]
    examine_s: float | None = None

    def fitdoctor(self, *arguments: str) -> Finished:
        """A command of ours, as the case's script is launched."""
        command = [*self.case.launcher, sys.executable, "-m", "fitdoctor", *arguments]
        return run_process(
            command, folder=self.folder, env=self.case.environment, timeout_s=LIMIT_S
        )

    def examined(self) -> str | None:
        """Record slow.py, or why it could not be."""
        budget = [] if self.examine_s is None else ["--budget", str(self.examine_s)]
        finished = self.fitdoctor("run", "-q", "--output-dir", "rec", *budget, "slow.py")
        recorded = sorted((self.folder / "rec").glob("*.rec"))
        if recorded:
            recorded[-1].rename(self.folder / "slow.rec")
            return None
        return "it took too long" if finished.timed_out else last_line(finished.stderr)

    def cured(self, level: str) -> dict[str, str]:
        """The texts that `fix` writes, by file; the files are then as they were."""
        self.fitdoctor("fix", "-q", "--from", "slow.rec", "--apply", *LEVELS[level])
        texts = self.texts()
        if texts != self.texts(self.case.scripts):
            self.fitdoctor("fix", "-q", "--undo")
        return texts

    def texts(self, folder: Path | None = None) -> dict[str, str]:
        names = ["slow.py", *(module.name for module in self.case.modules)]
        return {name: ((folder or self.folder) / name).read_text("utf-8") for name in names}

    def proof(self, *arguments: str) -> Row:
        """What `prove` writes, or the reason why it wrote nothing."""
        out = self.folder / "proof.json"
        out.unlink(missing_ok=True)
        finished = self.fitdoctor("prove", "-q", "-o", str(out), *self.limits, *arguments)
        if not out.exists():
            why = "it took too long" if finished.timed_out else last_line(finished.stderr)
            return {"reason": why}
        report: Row = json.loads(out.read_text(encoding="utf-8"))
        return report


def measured(
    case: Case, limits: list[str], keep: Path | None = None, examine_s: float | None = None
) -> Row:
    """One case: fitdoctor's cures, then the expert's script beside them."""
    with tempfile.TemporaryDirectory(prefix=f"cures-{case.id}-") as name:
        bench = Bench(case, Path(name), limits, examine_s)
        for script in (case.slow, case.fixed, *case.modules):
            shutil.copy(script, bench.folder / script.name)
        row: Row = {"id": case.id, "backend": case.backend, "safe": None, "unsafe": None}
        row["reason"] = bench.examined()
        if row["reason"] is None:
            _prove_levels(bench, row)
        if keep is not None:
            shutil.copytree(bench.folder, keep / case.id, dirs_exist_ok=True)
        return row


def _prove_levels(bench: Bench, row: Row) -> None:
    before = bench.texts()
    texts = before
    for level, options in LEVELS.items():
        cured = bench.cured(level)
        if cured == texts:
            continue  # nothing that the level before did not do
        texts = cured
        differ = ["--may-differ"] if level == "unsafe" else []
        row[level] = _facts(bench.proof("--from", "slow.rec", *options, *differ, "slow.py"))
    if texts == before:
        row["reason"] = bench.proof("--from", "slow.rec", *LEVELS["unsafe"], "slow.py").get(
            "reason"
        )
        return
    row["of_expert"] = _of_expert(bench, texts)


def _of_expert(bench: Bench, texts: dict[str, str]) -> Row | None:
    expert = (bench.folder / "fixed.py").read_text("utf-8")
    modules_as_they_were = bench.texts() | {"slow.py": texts["slow.py"]} == texts
    if modules_as_they_were and _same_program(texts["slow.py"], expert):
        return dict(SAME_PROGRAM)
    cured = bench.folder / "cured"
    cured.mkdir()
    for name, text in texts.items():
        (cured / name).write_text(text, encoding="utf-8")
    return _ratio(bench.proof("--no-check", "--may-differ", "fixed.py", "cured/slow.py"))


def _same_program(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def _facts(proof: Row) -> Row:
    return {
        "verdict": proof.get("verdict"),
        "reason": proof.get("reason"),
        "cures": proof.get("cures") or [],
        "achieved": _ratio(proof),
        "predicted": proof.get("predicted"),
        "equivalence": proof.get("equivalence"),
    }


def _ratio(proof: Row) -> Row | None:
    if not proof.get("ratio"):
        return None
    return {name: proof[name] for name in ("ratio", "low", "high")}


def _line(row: Row) -> str:
    proofs = [(level, row[level]) for level in LEVELS if row[level]]
    if not proofs:
        return f"{row['id']:12} no automatic cure: {row['reason']}"
    lines = []
    for level, proof in proofs:
        same = proof["equivalence"] or {}
        lines.append(
            f"{row['id']:12} {level:6} {_times(proof['achieved']):>8} predicted "
            f"{_times(proof['predicted']):>8} {proof['verdict']}, data {same.get('data_stream')}, "
            f"learning {same.get('learning')}: {'; '.join(proof['cures']) or proof['reason']}"
        )
    return "\n".join([*lines, f"{row['id']:12} of the expert's {_times(row.get('of_expert'))}"])


def _times(gain: Row | None) -> str:
    return "-" if gain is None else f"{gain['ratio']:.2f}x"


def _summary(rows: Iterable[Row]) -> str:
    rows = list(rows)
    automatic = [row for row in rows if row["safe"] or row["unsafe"]]
    compared = [row["of_expert"]["ratio"] for row in automatic if row.get("of_expert")]
    good = sum(one >= AS_GOOD for one in compared)
    lines = [
        f"{len(automatic)} of {len(rows)} cases have an automatic cure; {good} of the "
        f"{len(compared)} compared reach {AS_GOOD} of the expert's speed-up"
    ]
    proofs = [row[level] for row in automatic for level in LEVELS if row[level]]
    scored = [proof for proof in proofs if proof["achieved"] and proof["predicted"]]
    errors = [abs(p["predicted"]["ratio"] / p["achieved"]["ratio"] - 1) for p in scored]
    inside = [
        p["predicted"]["low"] <= p["achieved"]["ratio"] <= p["predicted"]["high"] for p in scored
    ]
    if errors:
        lines.append(
            f"prediction against proof: median error {statistics.median(errors):.0%}, "
            f"{sum(inside)} of {len(inside)} inside the predicted interval"
        )
    same = [row["safe"]["equivalence"] for row in automatic if row["safe"]]
    kept = sum(
        one is not None and (one["data_stream"], one["learning"]) == ("identical", "bitwise")
        for one in same
    )
    lines.append(f"safe cures: {kept} of {len(same)} with identical data and bitwise weights")
    return "\n".join(lines)


def _write(rows: dict[str, Row], path: Path) -> None:
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    report = {
        "date": str(date.today()),
        "machine": machine,
        "summary": _summary(rows.values()).splitlines(),
        "rows": list(rows.values()),
    }
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
