"""A pipeline on a tf.data service: what cannot be sent first, then the edit."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitdoctor.cures.served import served_patch
from synthetic import slow_pipeline, stage, view

ADDRESS = "grpc://localhost:5050"
TEXT = """\
import tensorflow as tf
data = tf.data.Dataset.range(100)
data = data.map(work, num_parallel_calls=2)
data = data.batch(8).prefetch(2)
"""


def pipeline(file: str, **more: object):
    rows = (
        stage("prefetch", 0, file=file, line=4),
        stage("batch", 1, file=file, line=4, batch_size=8),
        stage("map", 2, file=file, line=3, **more),
        stage("range", 3, inputs=(), file=file, line=2),
    )
    return view(slow_pipeline(*rows)).stages


def test_python_cannot_be_sent_to_workers(tmp_path: Path) -> None:
    assert served_patch(pipeline(str(tmp_path / "t.py"), python=True), ADDRESS, [tmp_path]) is None


def test_a_pipeline_whose_lines_were_not_seen_is_left_alone(tmp_path: Path) -> None:
    assert served_patch(pipeline(""), ADDRESS, [tmp_path]) is None
    assert served_patch((), ADDRESS, [tmp_path]) is None


def test_another_projects_file_is_not_changed(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TEXT)
    (tmp_path / "other").mkdir()
    patch = served_patch(pipeline(str(script)), ADDRESS, [tmp_path / "other"])
    assert patch is not None
    assert not patch


def test_the_service_comes_before_the_prefetch(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TEXT)
    patch = served_patch(pipeline(str(script)), ADDRESS, [tmp_path])
    assert patch is not None
    new = patch.files[script].new_text
    assert ".batch(8).apply(tf.data.experimental.service.distribute(" in new
    # As many steps in an epoch as before, however many workers there are.
    assert f'service="{ADDRESS}")).rebatch(8).prefetch(2)' in new
    assert new.splitlines()[:3] == TEXT.splitlines()[:3]
    compile(new, "train.py", "exec")


def test_what_is_done_to_batches_is_served_as_it_is(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(TEXT.replace(".batch(8)", ".batch(8).map(flip)"))
    file = str(script)
    rows = (
        stage("prefetch", 0, file=file, line=4),
        stage("map", 1, file=file, line=4),
        stage("batch", 2, file=file, line=4, batch_size=8),
        stage("range", 3, inputs=(), file=file, line=2),
    )
    patch = served_patch(view(slow_pipeline(*rows)).stages, ADDRESS, [tmp_path])
    assert patch is not None
    assert "rebatch" not in patch.files[script].new_text


@pytest.mark.parametrize("name", ["tensorflow", "tfl"])
def test_the_files_own_name_for_tensorflow_is_kept(tmp_path: Path, name: str) -> None:
    script = tmp_path / "train.py"
    head = "import tensorflow" if name == "tensorflow" else f"import tensorflow as {name}"
    script.write_text(
        TEXT.replace("import tensorflow as tf", head).replace("tf.data.D", f"{name}.data.D")
    )
    patch = served_patch(pipeline(str(script)), ADDRESS, [tmp_path])
    assert patch is not None
    assert f"{name}.data.experimental.service.distribute(" in patch.files[script].new_text
