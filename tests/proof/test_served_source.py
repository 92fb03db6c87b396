"""A process that runs changed text must look like one that runs the file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from fitdoctor.contract.options import RunOptions
from fitdoctor.proof.process import run_side
from fitdoctor.proof.side import Side

REPORT = """
import inspect, json, os, pickle, sys
import beside

class Thing:
    pass

def here():
    return {number}

json.dump({{
    "file": __file__, "argv": sys.argv, "path": sys.path[0], "name": __name__,
    "cwd": os.getcwd(), "spec": __spec__ is None, "value": here(), "beside": beside.VALUE,
    "beside_file": beside.__file__, "source": inspect.getsource(here),
    "pickled": type(pickle.loads(pickle.dumps(Thing()))).__module__,
    "names": sorted(n for n in globals() if not n.startswith("__")),
    "environment": sorted(n for n in os.environ if n.startswith("FITDOCTOR")),
}}, open("report.json", "w"))
"""


def report(folder: Path, sources: dict[Path, str] | None) -> dict[str, object]:
    (folder / "runs").mkdir(exist_ok=True)
    side = Side("x", "scripts/train.py", ("--", "-v", "1"), sources=sources)
    run = run_side(side, folder / "runs", options=RunOptions(probes=False), limit_s=1)
    assert run.exit_code == 0, run.error
    found: dict[str, object] = json.loads((folder / "report.json").read_text())
    return found


def project(folder: Path) -> tuple[Path, Path]:
    scripts = folder / "scripts"
    scripts.mkdir()
    train, beside = scripts / "train.py", scripts / "beside.py"
    train.write_text(REPORT.format(number=1))
    beside.write_text("VALUE = 1\n")
    return train, beside


def test_nothing_but_the_text_changes(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    train, beside = project(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FITDOCTOR_CACHE")  # the suite's own setting
    plain = report(tmp_path, None)
    same = report(tmp_path, {})
    # Two lines more at the top: line lookups must follow the served text.
    served = report(
        tmp_path, {train: "# one\n# two\n" + REPORT.format(number=2), beside: "VALUE = 2\n"}
    )
    assert same == plain
    assert served == {
        **plain,
        "value": 2,
        "beside": 2,
        "source": "def here():\n    return 2\n",
    }
    assert train.read_text() == REPORT.format(number=1)
    assert plain["environment"] == []


def test_a_traceback_shows_the_lines_that_ran(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("raise SystemError('the file')\n")
    manifest = tmp_path / "sources.json"
    text = "\n\ndef fail():\n    raise ValueError('served')\n\nfail()\n"
    manifest.write_text(json.dumps({str(script): text}))
    from fitdoctor.launch.launcher import child_environment
    from fitdoctor.proof.side import RUN_MAIN

    environment = child_environment(tmp_path / "a.rec", RunOptions(sources=str(manifest)))
    done = subprocess.run(
        [sys.executable, str(RUN_MAIN), str(script)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{script}", line 6, in <module>'
    assert lines[2].strip() == "fail()"
    assert "raise ValueError('served')" in done.stderr
    assert "run_main" not in done.stderr
    assert "served_source" not in done.stderr


def test_without_the_recorder_the_wrong_text_is_not_run(tmp_path: Path) -> None:
    from fitdoctor.proof.side import RUN_MAIN

    script = tmp_path / "train.py"
    script.write_text("print('ran')\n")
    done = subprocess.run(
        [sys.executable, str(RUN_MAIN), str(script)],
        env={k: v for k, v in os.environ.items() if not k.startswith("FITDOCTOR")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "could not be run" in done.stderr
    assert done.stdout == ""
