"""Running under fitdoctor equals running without it."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from fitdoctor.launch.launcher import INJECT_FOLDER

DRIVER = Path(__file__).with_name("launch_driver.py")
TIMEOUT_S = 60

LOOK_AROUND = """
import json, os, signal, sys
print(json.dumps({
    "argv": sys.argv, "orig_argv": sys.orig_argv, "file": __file__, "name": __name__,
    "main": sys.modules["__main__"].__dict__ is globals(), "path": sys.path,
    "cwd": os.getcwd(), "environ": dict(os.environ), "stdin": sys.stdin.read(),
    "sitecustomize": getattr(sys.modules.get("sitecustomize"), "__file__", None),
    "excepthook": sys.excepthook is sys.__excepthook__,
    "signals": [str(signal.getsignal(n)) for n in (2, 13, 15, 1)],
    "spec": __spec__.name if __spec__ else None,
}))
"""


def write(folder: Path, text: str, name: str = "script.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def environment(**changes: str) -> dict[str, str]:
    base = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return base | changes


def run(
    folder: Path, *command: str, stdin: bytes = b"", **changes: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        input=stdin,
        env=environment(**changes),
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def both(
    folder: Path, *command: str, stdin: bytes = b"", **changes: str
) -> tuple[subprocess.CompletedProcess[bytes], subprocess.CompletedProcess[bytes]]:
    plain = run(folder, *command, stdin=stdin, **changes)
    ours = run(folder, str(DRIVER), *command, stdin=stdin, **changes)
    return plain, ours


def script_stderr(result: subprocess.CompletedProcess[bytes]) -> bytes:
    lines = result.stderr.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith("fitdoctor ·".encode()))


def assert_same(
    plain: subprocess.CompletedProcess[bytes], ours: subprocess.CompletedProcess[bytes]
) -> None:
    assert ours.stdout == plain.stdout
    assert script_stderr(ours) == plain.stderr
    assert ours.returncode == plain.returncode


@pytest.mark.parametrize(
    "args", [(), ("--", "--x"), ("-m", "-o", "--help", "--json", "a b", ""), ("ä\udcff",)]
)
def test_a_script_sees_what_plain_python_shows(tmp_path: Path, args: tuple[str, ...]) -> None:
    write(tmp_path, LOOK_AROUND, "sub/script.py")
    plain, ours = both(tmp_path, "sub/script.py", *args, stdin="käse\n".encode())
    assert json.loads(plain.stdout)["path"][0] == str(tmp_path / "sub")
    assert_same(plain, ours)


@pytest.mark.parametrize("args", [(), ("--", "--x"), ("--budget", "3")])
@pytest.mark.parametrize("module", ["package.train", "package"])
def test_a_module_sees_what_plain_python_shows(
    tmp_path: Path, module: str, args: tuple[str, ...]
) -> None:
    for name in ("train.py", "__main__.py"):
        write(tmp_path, LOOK_AROUND, f"package/{name}")
    write(tmp_path, "", "package/__init__.py")
    assert_same(*both(tmp_path, "-m", module, *args))


@pytest.mark.parametrize("python_path", ["", "relative", ":relative", "/a/b:/c/d", "relative:"])
def test_pythonpath_is_as_it_was(tmp_path: Path, python_path: str) -> None:
    write(tmp_path, "", "relative/helper.py")
    write(tmp_path, LOOK_AROUND)
    assert_same(*both(tmp_path, "script.py", PYTHONPATH=python_path))


def test_stdin_and_stdout_bytes_pass_unchanged(tmp_path: Path) -> None:
    write(tmp_path, "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])")
    plain, ours = both(tmp_path, "script.py", stdin=bytes(range(256)) * 500)
    assert len(plain.stdout) == 256 * 500
    assert_same(plain, ours)


@pytest.mark.parametrize(
    "ending",
    [
        "pass",
        "import sys; sys.exit(3)",
        "import sys; sys.exit('no data')",
        "raise ValueError('bad data')",
        "import os; os._exit(5)",
        "def broken(:",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os; os.abort()",
    ],
)
def test_the_end_is_the_same(tmp_path: Path, ending: str) -> None:
    write(tmp_path, f"print('before', flush=True)\n{ending}\n")
    assert_same(*both(tmp_path, "script.py"))


def test_a_killed_script_leaves_a_readable_recording(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        import glob, os, signal
        with open(glob.glob(".fitdoctor/*.rec")[0], "ab") as recording:
            recording.write(b'{"k":"steps","half a li')
        os.kill(os.getpid(), signal.SIGKILL)
        """,
    )
    assert run(tmp_path, str(DRIVER), "script.py").returncode == -signal.SIGKILL
    (recording,) = tmp_path.glob(".fitdoctor/*.rec")
    last = json.loads(recording.read_bytes().splitlines()[-1])
    assert (last["k"], last["code"], last["signal"]) == ("exit", None, signal.SIGKILL)


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_workers_run_and_classes_of_main_are_pickled(tmp_path: Path, method: str) -> None:
    write(
        tmp_path,
        f"""
        import multiprocessing, os, pickle, sys

        class Point:
            def __init__(self, x): self.x = x

        def work(point):
            ours = sorted(k for k in os.environ if k.startswith("FITDOCTOR") or k == "PYTHONPATH")
            return type(point).__module__, point.x * 2, ours, sys.path, sys.argv

        if __name__ == "__main__":
            print(pickle.loads(pickle.dumps(Point(1))).x, pickle.dumps(Point)[:40])
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                print(pool.map(work, [Point(1), Point(2)]))
        """,
    )
    plain, ours = both(tmp_path, "script.py")
    assert plain.returncode == 0
    assert_same(plain, ours)


def test_a_subprocess_of_the_script_is_not_recorded(tmp_path: Path) -> None:
    write(tmp_path, LOOK_AROUND, "inner.py")
    write(
        tmp_path,
        """
        import subprocess, sys
        seen = "import sys; print([m for m in sys.modules if m.startswith('fitdoctor')])"
        subprocess.run([sys.executable, "inner.py"], check=True)
        subprocess.run([sys.executable, "-c", seen], check=True)
        """,
    )
    assert_same(*both(tmp_path, "script.py"))


def test_files_that_the_shell_opened_reach_the_script(tmp_path: Path) -> None:
    # As in `fitdoctor run train.py <(zcat data.gz)`.
    write(tmp_path, "import os, sys; print(os.read(int(sys.argv[1]), 100))")
    for command in (["script.py"], [str(DRIVER), "script.py"]):
        reading, writing = os.pipe()
        os.write(writing, b"data")
        result = subprocess.run(
            [sys.executable, *command, str(reading)],
            cwd=tmp_path,
            pass_fds=[reading],
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        os.close(reading)
        os.close(writing)
        assert result.stdout == b"b'data'\n"


@pytest.mark.parametrize(
    "custom",
    [
        "import builtins; builtins.custom = 'seen'",
        "raise ValueError('the own sitecustomize is broken')",
        "import a_module_that_is_not_there",
        "import os; os.environ['FROM_CUSTOM'] = os.environ['PYTHONPATH']",
    ],
)
def test_an_own_sitecustomize_is_chained(tmp_path: Path, custom: str) -> None:
    write(tmp_path, custom, "custom/sitecustomize.py")
    write(tmp_path, LOOK_AROUND + "import builtins; print(getattr(builtins, 'custom', None))")
    plain, ours = both(tmp_path, "script.py", PYTHONPATH=str(tmp_path / "custom"))
    assert ours.stdout == plain.stdout
    # Once more than plain python: fitdoctor's own interpreter meets the file as well.
    assert script_stderr(ours) == plain.stderr * 2


# What the injected file does on its own.


def injected(tmp_path: Path, **changes: str) -> dict[str, str]:
    recording = tmp_path / "a.rec"
    recording.touch()
    variables = {
        "PYTHONPATH": str(INJECT_FOLDER),
        "FITDOCTOR_RECORDING": str(recording),
        "FITDOCTOR_OPTIONS": "{}",
        "FITDOCTOR_PARENT": str(os.getpid()),
    }
    return variables | changes


def test_another_process_with_our_variables_does_not_record(tmp_path: Path) -> None:
    write(tmp_path, "import sys; print('fitdoctor.inside.wiring' in sys.modules)")
    result = run(tmp_path, "script.py", **injected(tmp_path, FITDOCTOR_PARENT="1"))
    assert (result.stdout, result.stderr) == (b"False\n", b"")
    assert (tmp_path / "a.rec").read_bytes() == b""


def test_a_recorder_that_fails_lets_the_script_run(tmp_path: Path) -> None:
    write(tmp_path, "print('ran')")
    result = run(tmp_path, "script.py", **injected(tmp_path, FITDOCTOR_OPTIONS="{broken"))
    assert (result.returncode, result.stdout) == (0, b"ran\n")
    assert len(result.stderr.splitlines()) == 1
    assert b"the script runs unrecorded" in result.stderr


def test_fitdoctor_need_not_be_installed_in_the_scripts_interpreter(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        import sys
        print("fitdoctor.inside.wiring" in sys.modules, [p for p in sys.path if "src" in p])
        """,
    )
    bare = sys._base_executable  # type: ignore[attr-defined]
    result = subprocess.run(
        [bare, "script.py"],
        cwd=tmp_path,
        env=environment(**injected(tmp_path)),
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.stdout == b"True []\n", result.stderr


# Signals.


def start(folder: Path, **settings: object) -> subprocess.Popen[bytes]:
    """The driver in a session of its own: no terminal, so that signals must be forwarded."""
    return subprocess.Popen(
        [sys.executable, str(DRIVER), "script.py"],
        cwd=folder,
        env=environment(LAUNCH_DRIVER=json.dumps(settings)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGINT])
def test_a_signal_to_fitdoctor_reaches_the_script(tmp_path: Path, number: int) -> None:
    write(
        tmp_path,
        f"""
        import signal, sys
        signal.signal({int(number)}, lambda number, frame: sys.exit(7))
        print("ready", flush=True)
        while True:
            signal.pause()
        """,
    )
    process = start(tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 7


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_a_script_ended_by_a_forwarded_signal(tmp_path: Path, number: int, code: int) -> None:
    write(tmp_path, "import signal; print('ready', flush=True); signal.pause()")
    process = start(tmp_path)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(number)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == code


def test_ctrl_c_in_a_terminal_reaches_the_script_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        """
        import signal, time
        count = 0
        def on_signal(number, frame):
            global count
            count += 1
        signal.signal(signal.SIGINT, on_signal)
        print("ready", flush=True)
        while count == 0:
            time.sleep(0.01)
        time.sleep(0.3)  # long enough for a second one, if it were forwarded as well
        print("interrupts:", count, flush=True)
        """,
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, str(DRIVER), "script.py"])
    seen = _read_until(terminal, b"ready")
    os.write(terminal, b"\x03")
    seen = _read_until(terminal, b"interrupts: ")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert b"interrupts: 1" in seen
    assert os.waitstatus_to_exitcode(status) == 0


def _read_until(terminal: int, wanted: bytes) -> bytes:
    seen = b""
    while wanted not in seen or not seen.endswith(b"\n"):
        assert select.select([terminal], [], [], TIMEOUT_S)[0], seen
        try:
            seen += os.read(terminal, 1000)
        except OSError:  # the other side has closed
            break
    return seen


# A script that keeps running after it was examined.

EXAMINED = """
import glob, signal, sys, time
{ignore}
with open(glob.glob(".fitdoctor/*.rec")[0], "a") as recording:
    recording.write('{{"k":"examined"}}\\n')
time.sleep({seconds})
sys.exit(4)
"""
IGNORE_SIGTERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def test_an_examined_script_may_end_by_itself(tmp_path: Path) -> None:
    write(tmp_path, EXAMINED.format(ignore="", seconds=0))
    process = start(tmp_path, grace_s=30)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 4


def test_with_continue_an_examined_script_keeps_running(tmp_path: Path) -> None:
    write(tmp_path, EXAMINED.format(ignore="", seconds=1.5))
    process = start(tmp_path, grace_s=0.1, keep_running=True)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 4


@pytest.mark.parametrize("ignore", ["", IGNORE_SIGTERM])
def test_an_examined_script_that_stays_is_ended(tmp_path: Path, ignore: str) -> None:
    write(tmp_path, EXAMINED.format(ignore=ignore, seconds=600))
    process = start(tmp_path, grace_s=0.1, kill_grace_s=0.2)
    process.communicate(timeout=TIMEOUT_S)
    # Our doing, not a failure of the script.
    assert process.returncode == 0
    (recording,) = tmp_path.glob(".fitdoctor/*.rec")
    assert json.loads(recording.read_bytes().splitlines()[-1])["overstayed"] is True


HANGS = """
import sys, time
import fitdoctor.inside.wiring  # the recorder runs; it ends with the interpreter

class Hang:
    def __del__(self):
        time.sleep(600)

kept = Hang()
{end}
"""


@pytest.mark.parametrize(("end", "code"), [("pass", 0), ("raise ValueError('boom')", 1)])
def test_a_process_that_hangs_after_its_end_is_ended(tmp_path: Path, end: str, code: int) -> None:
    write(tmp_path, HANGS.format(end=end))
    process = start(tmp_path, hang_grace_s=0.5, kill_grace_s=0.2)
    process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == code
