"""Training that stands still while its loader does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from fitdoctor.contract.limits import NS_PER_S
from fitdoctor.contract.writer import Writer
from fitdoctor.inside.ledger import hang_watch
from fitdoctor.inside.ledger.hang_watch import LOOKS, HangWatch, loading_threads
from fitdoctor.inside.ledger.recorder import Recorder
from fitdoctor.launch.recording_files import record_in

ADAPTER = "/v/site-packages/keras/src/trainers/data_adapters/py_dataset_adapter.py"
USER = "/home/me/data.py"
TRAINER = "/v/site-packages/keras/src/backend/jax/trainer.py"


class Waiting:
    """Threads that stand in functions of files that are not there."""

    def __init__(self) -> None:
        self._release = threading.Event()

    @contextmanager
    def at(self, *files: str) -> Iterator[None]:
        """A thread whose stack goes through these files, the outermost first."""
        entered = threading.Event()

        def wait() -> None:
            entered.set()
            self._release.wait(30)

        # Where the wait itself stands is no line of the user's.
        library = "/v/site-packages/waiting.py"
        wait.__code__ = wait.__code__.replace(co_filename=library)
        inner: Callable[[], None] = wait
        for file in reversed(files):
            code = compile("def call(): inner()", file, "exec")
            scope = {"inner": inner}
            exec(code, scope)
            inner = scope["call"]  # type: ignore[assignment]
        thread = threading.Thread(target=inner, daemon=True)
        thread.start()
        assert entered.wait(10)
        try:
            yield
        finally:
            self._release.set()
            thread.join()


class Watched:
    def __init__(self, path: Path) -> None:
        self.now = 100 * NS_PER_S
        self.path = path
        self.recorder = Recorder(Writer(str(path)), clock=lambda: self.now)
        self.recorder.alive_ns = self.now
        self.watch = HangWatch(self.recorder, limit_s=60)

    def looks(self, count: int, *, after_s: int) -> list[str]:
        self.now += after_s * NS_PER_S
        for _ in range(count):
            self.watch.look()
            self.now += NS_PER_S
        lines = self.path.read_bytes().splitlines() if self.path.exists() else []
        return [found["message"] for line in lines if (found := record_in(line, "note"))]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "a.rec")


def test_silent_without_a_loader(watched: Watched) -> None:
    """A long compilation, a save, the script's own work."""
    with Waiting().at("/home/me/train.py", TRAINER):
        assert watched.looks(20, after_s=600) == []


def test_silent_about_a_loaders_own_idle_threads(watched: Watched) -> None:
    with Waiting().at(threading.__file__, ADAPTER):
        assert watched.looks(20, after_s=600) == []


def test_silent_while_steps_end_and_after_the_last_call(watched: Watched) -> None:
    with Waiting().at(ADAPTER, USER):
        assert watched.looks(20, after_s=10) == []
        watched.recorder.alive_ns = None
        assert watched.looks(20, after_s=600) == []


def test_silent_while_probes_run(watched: Watched) -> None:
    with Waiting().at(ADAPTER, USER):
        with watched.recorder.suspend():
            assert watched.looks(20, after_s=600) == []
        assert watched.looks(20, after_s=10) == []


def test_one_look_is_not_enough(watched: Watched) -> None:
    with Waiting().at(ADAPTER, USER):
        assert watched.looks(LOOKS, after_s=61) == []


def test_a_worker_threads_line_is_named_once(watched: Watched) -> None:
    with Waiting().at(threading.__file__, ADAPTER, USER):
        (text,) = watched.looks(30, after_s=61)
    assert text.startswith("no step for 66 s: the loader stands at data.py:1 in call(), inside ")
    assert "timeout" in text


def test_worker_processes_are_named(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hang_watch, "_worker_processes", lambda: [4242, 4243])
    with Waiting().at("/home/me/train.py", TRAINER, ADAPTER):
        (text,) = watched.looks(30, after_s=61)
    assert "waits for 2 worker processes" in text
    assert "fitdoctor attach 4242" in text
    assert "use_multiprocessing=False" in text


def test_threads_that_are_not_loaders_are_left_out() -> None:
    with Waiting().at("/home/me/train.py", TRAINER):
        assert list(loading_threads()) == []


def test_children_are_found() -> None:
    multiprocessing = SimpleNamespace(active_children=lambda: [SimpleNamespace(pid=3)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(hang_watch.sys.modules, "multiprocessing", multiprocessing)
        assert hang_watch._worker_processes() == [3]
