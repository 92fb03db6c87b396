from __future__ import annotations

from pathlib import Path

import pytest
from cured import eager_recording

from fitdoctor.contract.errors import RecordingError
from fitdoctor.contract.reader import read_recording
from fitdoctor.cures.prescription import Prescription, prescribe
from fitdoctor.cures.writing import write_patch
from fitdoctor.diagnosis import diagnose

TEXT = "model = make()\nmodel.compile('sgd', run_eagerly=True)\nmodel.fit(x)\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(TEXT)
    return path


def prescribed(recording: Path, folder: Path) -> Prescription:
    read = read_recording(recording)
    return prescribe(read, diagnose(read), base=folder)


def test_a_file_changed_since_the_recording_is_refused(script: Path, tmp_path: Path) -> None:
    recording = eager_recording(tmp_path, script, line=2)
    script.write_text("# new\n" + TEXT)
    with pytest.raises(RecordingError, match="changed since it was recorded"):
        prescribed(recording, tmp_path)


def test_a_file_changed_while_it_ran_is_refused(script: Path, tmp_path: Path) -> None:
    recording = eager_recording(tmp_path, script, line=2, sha256=False)
    recording.write_text(recording.read_text().replace("false}}", "null}}"))
    with pytest.raises(RecordingError, match="changed while the script ran"):
        prescribed(recording, tmp_path)


def test_a_recording_without_digests_is_refused(script: Path, tmp_path: Path) -> None:
    recording = eager_recording(tmp_path, script, line=2, sha256=None)
    with pytest.raises(RecordingError, match="does not say which version"):
        prescribed(recording, tmp_path)


def test_a_script_that_is_gone_is_declined(script: Path, tmp_path: Path) -> None:
    recording = eager_recording(tmp_path, script, line=2)
    script.unlink()
    found = prescribed(recording, tmp_path)
    assert not found.patch
    assert found.patch.declined[0].kind == "declined"


def test_a_recorded_line_becomes_a_patch(script: Path, tmp_path: Path) -> None:
    found = prescribed(eager_recording(tmp_path, script, line=2), tmp_path)
    assert found.patch.files[script].new_text == TEXT.replace(", run_eagerly=True", "")
    assert found.gain is not None
    assert found.gain.value > 5


def test_the_second_time_there_is_nothing_to_change(script: Path, tmp_path: Path) -> None:
    recording = eager_recording(tmp_path, script, line=2)
    write_patch(prescribed(recording, tmp_path).patch, tmp_path)
    again = prescribed(recording, tmp_path)
    assert not again.patch
    assert again.written_before == (script,)


def test_a_change_of_the_users_after_ours_is_refused(script: Path, tmp_path: Path) -> None:
    recording = eager_recording(tmp_path, script, line=2)
    write_patch(prescribed(recording, tmp_path).patch, tmp_path)
    script.write_text(script.read_text() + "# mine\n")
    with pytest.raises(RecordingError, match="changed since it was recorded"):
        prescribed(recording, tmp_path)
