"""What `fitdoctor fix` makes of slow input: as written, by rule of thumb, cured, by experts.

    python -m benchmarks.input [CASE ...] [--seconds 2] [--rounds 3]

For each case, `fitdoctor run` examines slow.py, and `fitdoctor fix --unsafe` cures a copy. One
process then reads four loaders in turn: slow.py's as written; the same with AUTOTUNE everywhere
and a prefetch, as people do by hand (tf.data only); the cured one's; and the expert's, of
fixed.py. A tf.data pipeline is planned as a whole. The rates are rows
per second without a model; caches are full, and queues are drained, before they are timed. The
fastest round counts: TensorFlow waits by chance where a pass ends, in any of the loaders.

Cases without a row have no cure that a loader's settings could be: Python that has to be written
anew (S01, S02, S03, D01, A01, A10), another order of the stored rows (S07, S08), a cost of each
`fit` or of a validation's start (S15, S17, S18), arrays instead of a generator (S12), or a loop
that does not overlap (S19). Their gains are in the casebook's table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

from casebook.case import Case, load_all

ROOT = Path(__file__).parents[1]
RESULT = Path(__file__).parent / "results" / "input.json"
TF_DATA = ("S04", "S05", "S09", "S09_jax", "S10", "S11", "S13", "S14", "D02", "D03", "A04", "A07")
WORKERS = ("S06", "S06_jax", "S06_torch", "S16", "S16_torch", "A11")
CASES = (*TF_DATA, *WORKERS)
LIMIT_S = 400
AS_GOOD = 0.9  # of the expert's rate


def main() -> int:
    """Measure, print, write."""
    options = _parser().parse_args()
    cases = load_all(ROOT / "casebook")
    rows = _kept() if options.cases else {}
    for name in options.cases or CASES:
        rows[name] = {"date": str(date.today()), **measured(cases[name], options)}
        print(_line(rows[name]), flush=True)
    print(_summary(list(rows.values())))
    machine = {"cpus": os.cpu_count(), "platform": platform.platform(), "python": sys.version}
    RESULT.write_text(
        json.dumps({"machine": machine, "rows": list(rows.values())}, indent=1) + "\n"
    )
    return 0


def _kept() -> dict[str, dict[str, Any]]:
    """The rows of cases that are not asked for this time."""
    if not RESULT.exists():
        return {}
    return {row["case"]: row for row in json.loads(RESULT.read_text(encoding="utf-8"))["rows"]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    return parser


def measured(case: Case, options: argparse.Namespace) -> dict[str, Any]:
    """Rates of one case."""
    with tempfile.TemporaryDirectory(prefix=f"input-{case.id}-") as name:
        folder = Path(name)
        for script in (case.slow, case.fixed, *case.modules):
            shutil.copy(script, folder / script.name)
        recording = recorded(case, folder)
        cured = patched(case, folder, recording)
        row = {"case": case.id, "patch": cured}
        request = {
            "slow": str(folder / "slow.py"),
            "fixed": str(folder / "fixed.py"),
            "cured": str(folder / "cured.py") if cured else None,
            "autotune": case.id in TF_DATA,
            "rounds": options.rounds,
            "seconds": options.seconds,
        }
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.input_worker"],
            input=json.dumps(request),
            env={**_environment(case), "CASEBOOK_SCALE": "1"},
            capture_output=True,
            text=True,
            cwd=ROOT,
            timeout=LIMIT_S,
            check=False,
        )
    if done.returncode:
        return {**row, "error": done.stderr.strip().splitlines()[-1:]}
    rates = json.loads(done.stdout.splitlines()[-1])
    best = {name: max(values) for name, values in rates.items() if values}
    return {**row, "rows_per_second": rates, "best": best}


def recorded(case: Case, folder: Path) -> Path:
    """A recording of slow.py."""
    subprocess.run(
        [sys.executable, "-m", "fitdoctor", "run", "-q", "slow.py"],
        env=_environment(case),
        capture_output=True,
        cwd=folder,
        timeout=LIMIT_S,
        check=False,
    )
    return next((folder / ".fitdoctor").glob("*.rec"))


def patched(case: Case, folder: Path, recording: Path) -> str | None:
    """Write cured.py as fitdoctor cures slow.py; the patch, or None where there is none."""
    fix = [sys.executable, "-m", "fitdoctor", "fix", "--unsafe", "--from", str(recording)]
    diff = _output([*fix, "--diff"], case, folder)
    if not diff.strip():
        return None
    text = (folder / "slow.py").read_text(encoding="utf-8")
    _output([*fix, "-q", "--apply"], case, folder)
    (folder / "slow.py").rename(folder / "cured.py")
    (folder / "slow.py").write_text(text, encoding="utf-8")
    return diff


def _output(command: list[str], case: Case, folder: Path) -> str:
    return subprocess.run(
        command,
        env=_environment(case),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=LIMIT_S,
        check=False,
    ).stdout


def _environment(case: Case) -> dict[str, str]:
    return {**os.environ, **case.environment, "TF_CPP_MIN_LOG_LEVEL": "3"}


def _line(row: dict[str, Any]) -> str:
    if "best" not in row:
        return f"{row['case']:>5}  failed: {row['error']}"
    rate = row["best"]
    base, expert, planned_rate = rate["as_written"], rate.get("expert"), rate.get("planned")
    parts = [f"{row['case']:>5}  as written {base:10.0f} rows/s"]
    names = [name for name in ("autotune", "planned", "expert") if name in rate]
    parts += [f"{name} {rate[name] / base:6.2f}x" for name in names]
    if expert and planned_rate:
        parts.append(f"planned/expert {planned_rate / expert:.2f}")
    return "  ".join(parts)


def _summary(rows: list[dict[str, Any]]) -> str:
    found = [row["best"] for row in rows if "planned" in row.get("best", {})]
    shares = [rates["planned"] / rates["expert"] for rates in found]
    naive = max((rates["planned"] / rates["as_written"] for rates in found), default=0.0)
    lines = [
        f"planned is at least {AS_GOOD} of the expert's rate in "
        f"{sum(share >= AS_GOOD for share in shares)} of {len(rows)} cases",
        f"the worst loader becomes {naive:.0f}x as fast",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
