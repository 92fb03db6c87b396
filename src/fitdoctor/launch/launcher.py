"""Starts the real interpreter on the user's script and waits for it.

The script gets our terminal, streams, working directory, environment and open files; our
own variables are taken out again by the injected `sitecustomize` before its first line.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from fitdoctor.contract.options import VARIABLE, RunOptions
from fitdoctor.launch.recording_files import Tail, record_in

INJECT_FOLDER = Path(__file__).resolve().parent / "inject"
# After the examination the script is asked to end; a save in a `finally` is given this long.
OVERSTAY_GRACE_S = 20.0
# And a process may take this long to go after its script has ended.
HANG_GRACE_S = 20.0
# Between asking to end and ending by force.
KILL_GRACE_S = 5.0
_WATCH_PERIOD_S = 0.5

# The terminal sends these to the whole foreground group, so the script gets them itself.
_TERMINAL_SIGNALS = (signal.SIGINT, signal.SIGQUIT)
# These reach only the process that was named; USR1 and USR2 are what batch systems
# (Slurm's --signal) send before the time is up.
_FORWARDED_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


@dataclass(frozen=True)
class Outcome:
    """How the script ended: by an exit code or by a signal, never both."""

    code: int | None
    signal: int | None
    overstayed: bool = False  # examined, did not end when asked to, ended by us
    hung: bool = False  # came to its end, but its process did not; ended by us


def command_line(target: str, args: Sequence[str], *, module: bool) -> list[str]:
    """The command that plain `python` would be given."""
    return [sys.executable, *(["-m"] if module else []), target, *args]


def child_environment(recording: Path, options: RunOptions) -> dict[str, str]:
    """Our environment plus what the injected sitecustomize reads and removes."""
    original = os.environ.get("PYTHONPATH")
    kept = {} if original is None else {"FITDOCTOR_PYTHONPATH": original}
    return {
        **os.environ,
        **kept,
        # An empty PYTHONPATH means none; "folder:" would mean the folder and the cwd.
        "PYTHONPATH": os.pathsep.join(filter(None, (str(INJECT_FOLDER), original))),
        "FITDOCTOR_RECORDING": str(recording.absolute()),
        VARIABLE: options.to_text(),
        "FITDOCTOR_PARENT": str(os.getpid()),
    }


def launch(
    command: Sequence[str],
    *,
    recording: Path,
    options: RunOptions,
    on_start: Callable[[int], None] | None = None,
    grace_s: float = OVERSTAY_GRACE_S,
    silent: bool = False,
    stdout: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> Outcome:
    """Run the command to its end, passing signals on.

    Args:
        command: What plain `python` would be given, see `command_line`.
        recording: The file the recorder in the child appends to.
        options: Options of the recorder in the child.
        on_start: Called with the process id once the child runs.
        grace_s: How long an examined script may keep running before it is ended.
        silent: Without the terminal: a trial is not the run that the user asked for.
        stdout: Where the script's output goes; our own stdout if not given.
        variables: More environment variables for the script.
    """
    relay = _SignalRelay()
    with relay.installed():
        # Files the shell opened for the script, as in `train.py <(zcat data.gz)`, must
        # reach it; those that fitdoctor opens itself are not inheritable.
        nowhere = subprocess.DEVNULL if silent else None
        process = subprocess.Popen(
            command,
            env={**child_environment(recording, options), **(variables or {})},
            close_fds=False,
            stdin=nowhere,
            stdout=nowhere if silent else stdout,
            stderr=nowhere,
        )
        relay.attach(process)
        # With --continue an examined script keeps running; only its end counts.
        ends = ("end",) if options.keep_running else ("end", "examined")
        watch = _OverstayWatch(process, recording, grace_s, ends)
        watch.start()
        if on_start is not None:
            on_start(process.pid)
        returncode = process.wait()
        watch.stop()
    if watch.ended_the_script and watch.end_code is not None:
        return Outcome(code=watch.end_code, signal=None, hung=True)
    code, by_signal = (returncode, None) if returncode >= 0 else (None, -returncode)
    return Outcome(code, by_signal, overstayed=watch.ended_the_script)


class _SignalRelay:
    """Hands signals that only we received on to the script."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._pending: list[int] = []

    def attach(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        for number in self._pending:
            process.send_signal(number)

    @contextmanager
    def installed(self) -> Iterator[None]:
        previous = {}
        for number in (*_TERMINAL_SIGNALS, *_FORWARDED_SIGNALS):
            # A signal we were told to ignore (nohup) stays ignored in the script too.
            if signal.getsignal(number) != signal.SIG_IGN:
                previous[number] = signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number in _TERMINAL_SIGNALS and _in_foreground_of_terminal():
            return
        if self._process is None:
            self._pending.append(number)
        else:
            self._process.send_signal(number)


def _in_foreground_of_terminal() -> bool:
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
        try:
            return os.tcgetpgrp(terminal) == os.getpgrp()
        finally:
            os.close(terminal)
    except OSError:
        return False


class _OverstayWatch(threading.Thread):
    """Ends a script that keeps running long after it was examined and asked to end.

    A bare `except:` around fit, or training in a thread, can swallow the SystemExit. And
    TensorFlow can hang when the interpreter ends while a Python function of tf.data runs.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        recording: Path,
        grace_s: float,
        ends: tuple[str, ...],
    ) -> None:
        super().__init__(name="fitdoctor-overstay", daemon=True)
        self.ended_the_script = False
        self.end_code: int | None = None  # of a script that came to its end
        self._process = process
        self._tail = Tail(recording)
        self._grace_s = grace_s
        self._ends = ends
        self._stopped = threading.Event()

    def stop(self) -> None:
        self._stopped.set()

    def run(self) -> None:
        while not self._sees_an_end():
            if self._stopped.wait(_WATCH_PERIOD_S):
                return
        if self._stopped.wait(self._grace_s if self.end_code is None else HANG_GRACE_S):
            return
        self.ended_the_script = True
        self._process.terminate()
        if not self._stopped.wait(KILL_GRACE_S):
            self._process.kill()

    def _sees_an_end(self) -> bool:
        try:
            lines = self._tail.lines()
        except OSError:  # the script deleted its recording: nothing will be seen any more
            return False
        ends = [record for line in lines if (record := record_in(line, "examined", "end"))]
        for record in ends:
            if record["k"] == "end":
                self.end_code = 1 if record.get("failed") else 0
        return any(record["k"] in self._ends for record in ends)


def end_like(outcome: Outcome) -> NoReturn:
    """End this process as the script ended: same exit code, same signal.

    SIGINT becomes exit code 130, so that the shell itself decides whether a loop over
    several runs stops.
    """
    if outcome.signal is None or outcome.overstayed:
        sys.exit(outcome.code or 0)
    if outcome.signal != signal.SIGINT:
        _die_by(outcome.signal)
    sys.exit(128 + outcome.signal)


def _die_by(number: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    # The script's own core dump is the useful one.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    # Still here: the first process of a container cannot be killed by its own signals.
    time.sleep(0.1)
