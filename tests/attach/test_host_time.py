"""Samples of another process: whose line it is, what runs and what waits."""

from __future__ import annotations

import pytest

from fitdoctor.attach.attached import run_command
from fitdoctor.attach.host_time import Window, host_time
from fitdoctor.attach.py_spy import window_lengths
from fitdoctor.attach.stacks import PYTHON, Frame, Stack, ThreadStacks, thread_stacks

PID = 7
OWN = Frame("load", "/home/me/train.py", 12)
TOP = Frame("<module>", "/home/me/train.py", 40)
KERAS = Frame("fit", "/venv/lib/python3.11/site-packages/keras/src/trainer.py", 300)
WAIT = Frame("wait", "/usr/lib/python3.11/threading.py", 327)


def window(stacks: list[Stack], *, running_only: bool, seconds: float = 1.0) -> Window:
    return Window(seconds, running_only, [ThreadStacks(PID, True, "MainThread", tuple(stacks))])


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/home/me/train.py", None),
        ("train.py", None),
        ("<ipython-input-3-abc>", None),
        ("<frozen importlib._bootstrap>", PYTHON),
        ("/usr/lib/python3.12/queue.py", PYTHON),
        ("/tmp/__autograph_generated_file9a.py", PYTHON),
        (r"C:\venv\Lib\site-packages\torch\nn\linear.py", "torch"),
        ("/venv/lib/python3.11/site-packages/six.py", "six"),
        ("/usr/lib/python3/dist-packages/jax/api.py", "jax"),
    ],
)
def test_whose_file_it_is(file: str, library: str | None) -> None:
    assert Frame("f", file, 1).library == library


def test_threads_are_named_and_the_main_one_is_known() -> None:
    def profile(name: str) -> dict[str, object]:
        return {"name": name, "samples": [[1, 0]]}

    frames = [{"name": "load", "file": "a.py", "line": 3}, {"name": "<module>", "file": "a.py"}]
    names = ['Process 7 Thread 7 "MainThread"', 'Process 7 Thread 8 ""', 'Process 9 Thread 9 "x"']
    found = thread_stacks(
        {"shared": {"frames": frames}, "profiles": [*map(profile, names), profile("other")]}, PID
    )
    assert [(one.pid, one.is_main) for one in found] == [(7, True), (7, False), (9, False)]
    assert found[0].stacks[0] == (Frame("<module>", "a.py", 0), Frame("load", "a.py", 3))


def test_without_samples_nothing_is_said() -> None:
    found = host_time([])
    assert found.shares is None
    assert found.lines == ()
    # The first samples see no main thread: a shell whose child is Python.
    assert host_time([Window(1.0, False, [])]).shares is None


def test_shares_and_lines_of_the_main_thread() -> None:
    standing: list[Stack] = [(TOP, OWN)] * 50 + [(TOP, KERAS)] * 20 + [(TOP, KERAS, WAIT)] * 30
    running: list[Stack] = [(TOP, OWN)] * 50 + [(TOP, KERAS)] * 20
    found = host_time([window(standing, running_only=False), window(running, running_only=True)])
    assert found.shares is not None
    assert vars(found.shares) == pytest.approx(
        {"own": 0.5, "framework": 0.2, "native": 0.0, "waiting": 0.3}
    )
    first, second = found.lines
    assert (first.line, first.running, first.waiting) == (12, pytest.approx(0.5), 0.0)
    assert (second.line, second.inside) == (40, "keras")
    assert second.waiting == pytest.approx(0.3)
    assert found.waits_at == WAIT


def test_time_on_a_cpu_that_shows_no_python_is_native_code() -> None:
    windows = [window([(TOP, KERAS)] * 100, running_only=False), window([], running_only=True)]
    waits, computes = host_time(windows, 0.05).shares, host_time(windows, 0.9).shares
    assert waits is not None and waits.waiting == pytest.approx(0.95)
    assert computes is not None and computes.native == pytest.approx(0.9)


def test_other_threads_are_kept_apart() -> None:
    main = ThreadStacks(PID, True, "MainThread", ((TOP, KERAS, WAIT),) * 100)
    workers = [ThreadStacks(PID, False, "", ((OWN,),) * 100) for _ in range(2)]
    running = [ThreadStacks(PID, False, "", ((OWN,),) * 75) for _ in range(2)]
    found = host_time([Window(1.0, False, [main, *workers]), Window(1.0, True, running)])
    loader = next(one for one in found.lines if not one.on_main)
    assert (loader.line, loader.running) == (12, pytest.approx(1.5))
    assert loader.waiting == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("command", "suggested"),
    [
        ("python train.py --epochs 3", "fitdoctor run train.py --epochs 3"),
        ("python3 -u -X dev a/train.py", "fitdoctor run a/train.py"),
        ("python -m my.training x", "fitdoctor run -m my.training x"),
        ("python -c pass", None),
        ("/usr/bin/jupyter-lab", None),
        ("python -m", None),
        ("", None),
    ],
)
def test_the_command_to_run_next(command: str, suggested: str | None) -> None:
    assert run_command(tuple(command.split())) == suggested


@pytest.mark.parametrize("seconds", [0.1, 2, 5, 10, 61.4])
def test_windows_take_the_whole_time(seconds: float) -> None:
    lengths = window_lengths(seconds)
    assert len(lengths) % 2 == 0
    assert min(lengths) >= 1
    assert sum(lengths) == max(2, round(seconds))
