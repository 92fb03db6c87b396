"""What `fitdoctor run`, `report` and `rule` write, and where."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from commands import FAKE_CHAIN, TRAINS, fake


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(TRAINS)
    return tmp_path


def test_quiet_says_nothing(folder: Path) -> None:
    result = fake("run", "-q", "train.py", cwd=folder)
    assert (result.returncode, result.stdout, result.stderr) == (
        0,
        "the script's own output\n",
        "",
    )


def test_stdout_is_the_scripts_and_the_report_is_on_stderr(folder: Path) -> None:
    result = fake("run", "train.py", cwd=folder)
    assert (result.returncode, result.stdout) == (0, "the script's own output\n")
    assert re.match(r"fitdoctor · recording train.py → .fitdoctor/\S+_train.rec\n", result.stderr)
    assert "Do this first" in result.stderr
    # Two equal progress records are one state.
    assert result.stderr.count("recording 1 of 30 s") == 1
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    ("options", "environment", "colored"),
    [
        ([], {}, False),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
    ],
)
def test_color(
    folder: Path, options: list[str], environment: dict[str, str], colored: bool
) -> None:
    result = fake("run", *options, "train.py", cwd=folder, **environment)
    assert ("\x1b[" in result.stderr) is colored


def test_json_and_text_files(folder: Path) -> None:
    (folder / "out.txt").write_text("old")
    options = ["-o", "out.txt", "--json", "out.any", "--force"]
    result = fake("run", *options, "train.py", cwd=folder)
    assert result.returncode == 0
    assert json.loads((folder / "out.any").read_text())["schema"] == 1
    assert "Do this first" in (folder / "out.txt").read_text()
    assert sorted(path.name for path in folder.iterdir()) == [
        ".fitdoctor",
        "out.any",
        "out.txt",
        "train.py",
    ]


def test_a_failed_script_is_still_reported(folder: Path) -> None:
    (folder / "train.py").write_text(TRAINS + "raise SystemExit(3)")
    result = fake("run", "-o", "out.json", "train.py", cwd=folder)
    assert result.returncode == 3
    assert "Do this first" in result.stderr
    assert (folder / "out.json").exists()


def test_options_that_only_the_script_can_mean_are_the_scripts(folder: Path) -> None:
    (folder / "train.py").write_text(TRAINS + "import sys; print(sys.argv)")
    result = fake("run", "train.py", "-x", "--", "-q", "--json", "x", cwd=folder)
    assert "['train.py', '-x', '--', '-q', '--json', 'x']" in result.stdout


def test_options_after_the_module_are_the_modules(folder: Path) -> None:
    (folder / "train.py").write_text(TRAINS + "import sys; print(sys.argv[1:])")
    result = fake("run", "-q", "-m", "train", "--", "-q", "-m", cwd=folder)
    assert "['--', '-q', '-m']" in result.stdout
    assert result.returncode == 0


def test_ctrl_c_gives_a_report_and_130(folder: Path) -> None:
    (folder / "train.py").write_text(
        TRAINS + "import sys, time\nsys.stdout.flush()\nwhile True: time.sleep(1)"
    )
    process = subprocess.Popen(
        [sys.executable, FAKE_CHAIN, "run", "train.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Do this first" in errors


def test_a_killed_script_is_reported_before_we_die_the_same_way(folder: Path) -> None:
    (folder / "train.py").write_text(TRAINS + "import os; os.kill(os.getpid(), 9)")
    result = fake("run", "train.py", cwd=folder)
    assert result.returncode == -signal.SIGKILL
    assert "Do this first" in result.stderr


def test_a_script_that_deletes_its_recording_keeps_its_code(folder: Path) -> None:
    (folder / "train.py").write_text(
        "import shutil; shutil.rmtree('.fitdoctor'); raise SystemExit(3)"
    )
    result = fake("run", "train.py", cwd=folder)
    assert result.returncode == 3
    assert "the recording could not be finished: No such file or directory" in result.stderr


def test_report_shows_the_newest_again(folder: Path) -> None:
    fake("run", "-q", "train.py", cwd=folder)
    shown = fake("report", cwd=folder)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "Do this first" in shown.stdout
    data = fake("report", "--json", cwd=folder)
    assert json.loads(data.stdout)["workloads"][0]["verdict"] == "input-bound"
    written = fake("report", "-o", "again.json", cwd=folder)
    assert (written.stdout, written.stderr) == ("", "fitdoctor · wrote again.json\n")
    assert json.loads((folder / "again.json").read_text()) == json.loads(data.stdout)


def test_report_in_an_encoding_without_our_characters(folder: Path) -> None:
    fake("run", "-q", "train.py", cwd=folder)
    shown = fake("report", cwd=folder, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert shown.returncode == 0
    assert shown.stdout.isascii()
    assert "2.4x (" in shown.stdout


def test_rule_pages_and_list(folder: Path) -> None:
    assert fake("rule", "in002", cwd=folder).stdout == "# serial-reads (IN002)\n"
    assert fake("rule", "serial-reads", cwd=folder).stdout == "# serial-reads (IN002)\n"
    listed = fake("rule", "--all", cwd=folder)
    assert listed.stdout == (
        "IN001     python-bound-loader  python-bound-loader.\n"
        "IN002 [*] serial-reads         serial-reads.\n"
    )
    rules = json.loads(fake("rule", "--all", "--json", cwd=folder).stdout)
    assert [rule["code"] for rule in rules] == ["IN001", "IN002"]
    assert "serial-reads" in fake("rule", "IN002", "--color", "always", cwd=folder).stdout
