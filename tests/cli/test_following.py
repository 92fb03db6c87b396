"""Threads that follow a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitdoctor.cli.following import Follower, Progress
from fitdoctor.launch.recording_files import record_in


class Lines(Follower):
    def __init__(self, recording: Path) -> None:
        super().__init__(recording, name="test", period_s=60)
        self.seen: list[bytes] = []
        self.closed = False

    def look(self, lines: list[bytes]) -> None:
        self.seen += lines

    def close(self) -> None:
        self.closed = True


def test_a_recording_that_is_deleted_ends_it_quietly(tmp_path: Path) -> None:
    follower = Lines(tmp_path / "gone.rec")
    follower.start()
    follower.stop()
    assert (follower.seen, follower.closed) == ([], True)


def test_one_that_never_started_can_be_stopped(tmp_path: Path) -> None:
    Lines(tmp_path / "a.rec").stop()


def test_the_last_lines_are_seen_before_it_ends(tmp_path: Path) -> None:
    (tmp_path / "a.rec").write_bytes(b"one\ntwo\nhal")
    follower = Lines(tmp_path / "a.rec")
    follower.start()
    follower.stop()
    assert (follower.seen, follower.closed) == ([b"one", b"two"], True)


def test_each_state_is_printed_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = b'{"k":"progress","text":"recording 1 of 30 s"}'
    other = b'{"k":"progress","text":"probing"}'
    Progress(tmp_path / "a.rec").look([line, line, b'{"k":"sample","text":"no"}', other])
    assert capsys.readouterr().err == "fitdoctor · recording 1 of 30 s\nfitdoctor · probing\n"


@pytest.mark.parametrize(
    "line", [b"", b"torn {", b"[1]", b'{"k":"steps"}', b'{"text":"\\"end\\""}']
)
def test_a_line_that_is_not_asked_for_is_empty(line: bytes) -> None:
    assert record_in(line, "end", "examined") == {}


def test_a_line_of_one_of_the_kinds() -> None:
    assert record_in(b'{"k":"end","t":1}', "end", "examined") == {"k": "end", "t": 1}
    assert record_in(b'{"file":"a.py"}') == {"file": "a.py"}
