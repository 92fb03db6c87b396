"""`fitdoctor.packed`: what it refuses, then: the same elements, made once."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import fitdoctor
from fitdoctor.contract.errors import UsageError
from fitdoctor.pack import packed as packed_module
from fitdoctor.pack.manifest import Manifest, read_manifest
from fitdoctor.pack.verify import verify


@pytest.fixture(scope="module")
def tf() -> Any:
    return pytest.importorskip("tensorflow")


def packs(dest: Path) -> list[Manifest]:
    return [read_manifest(path.parent) for path in sorted(dest.glob("*/manifest.json"))]


def same(one: Any, other: Any, tf: Any) -> bool:
    pairs = zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True)
    return all(
        a.dtype == b.dtype and a.shape == b.shape and bool(tf.reduce_all(tf.equal(a, b)))
        for a, b in pairs
    )


def test_what_cannot_be_stored_is_refused(tf: Any, tmp_path: Path) -> None:
    numbers = tf.data.Dataset.range(9)
    refused = {
        "it has no end": numbers.repeat(),
        "RaggedTensorSpec": numbers.map(lambda x: tf.RaggedTensor.from_row_lengths([x], [1])),
    }
    for reason, dataset in refused.items():
        with pytest.raises(UsageError, match=reason):
            dataset.apply(fitdoctor.packed(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_a_dataset_that_gives_others_each_time_is_refused(tf: Any, tmp_path: Path) -> None:
    noise = tf.data.Dataset.range(90).map(lambda x: tf.random.uniform(()))
    with pytest.raises(UsageError, match="other elements when it is read a second time"):
        noise.apply(fitdoctor.packed(tmp_path))
    once = iter(range(90))
    generated = tf.data.Dataset.from_generator(lambda: once, output_types=tf.int64)
    with pytest.raises(UsageError, match="other elements when it is read a second time"):
        generated.apply(fitdoctor.packed(tmp_path))
    assert packs(tmp_path) == []


def test_a_dataset_without_elements_is_refused(tf: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no element"):
        tf.data.Dataset.range(0).apply(fitdoctor.packed(tmp_path))


def test_a_shard_that_is_missing_or_cut_is_named(tf: Any, tmp_path: Path) -> None:
    data = tf.data.Dataset.range(50)
    data.apply(fitdoctor.packed(tmp_path))
    (path,) = packs(tmp_path)[0].paths
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match=r"shard-00000\.tfrecord is missing or not whole"):
        data.apply(fitdoctor.packed(tmp_path))
    path.unlink()
    with pytest.raises(UsageError, match=r"shard-00000\.tfrecord is missing or not whole"):
        data.apply(fitdoctor.packed(tmp_path))


SHAPES = {
    "text": lambda tf, x: tf.strings.as_string(x),
    "number": lambda tf, x: x,
    "pair": lambda tf, x: (tf.fill((3, 2), tf.cast(x, tf.float32)), x),
    "single": lambda tf, x: (x,),
    "names": lambda tf, x: {"b": x, "a": {"c": tf.cast(x, tf.bfloat16), "d": x > 3}},
    "many": lambda tf, x: ({"x": x}, (x, tf.strings.as_string([x, x])), x, x),
    "lengths": lambda tf, x: (tf.range(x), tf.ones((x % 3, 4), tf.complex64)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_elements_come_back_the_same_in_the_same_order(
    name: str, tf: Any, tmp_path: Path, capfd: Any
) -> None:
    data = tf.data.Dataset.range(40).map(lambda x: SHAPES[name](tf, x))
    first, second = (data.apply(fitdoctor.packed(tmp_path)) for _ in range(2))
    said = capfd.readouterr().err
    assert said.count("packing into") == said.count("packed 40 elements") == 1
    for stored in (first, second):
        assert stored.element_spec == data.element_spec
        assert int(stored.cardinality()) == 40
        again = list(stored)
        assert len(again) == 40
        assert all(same(a, b, tf) for a, b in zip(data, again, strict=True))
    (manifest,) = packs(tmp_path)
    assert verify(manifest) == []
    assert not (manifest.folder / ".packing").exists()


def test_an_unknown_length_stays_unknown(tf: Any, tmp_path: Path) -> None:
    data = tf.data.Dataset.range(40).filter(lambda x: x % 2 == 0)
    stored = data.apply(fitdoctor.packed(tmp_path))
    assert int(stored.cardinality()) == tf.data.UNKNOWN_CARDINALITY
    assert list(stored.as_numpy_iterator()) == list(range(0, 40, 2))


def test_records_of_files_are_stored_as_they_are(tf: Any, tmp_path: Path) -> None:
    paths = []
    for number in range(30):
        paths.append(str(tmp_path / f"{number}.tfrecord"))
        with tf.io.TFRecordWriter(paths[-1]) as writer:
            writer.write(b"record %d" % number)
    data = tf.data.TFRecordDataset(paths, num_parallel_reads=4)
    stored = data.apply(fitdoctor.packed(tmp_path / "out"))
    expected = list(data.as_numpy_iterator())
    assert list(stored.as_numpy_iterator()) == expected
    (manifest,) = packs(tmp_path / "out")
    # Any reader of records reads them, and so does load.
    shards = [str(path) for path in manifest.paths]
    assert list(tf.data.TFRecordDataset(shards).as_numpy_iterator()) == expected
    assert list(fitdoctor.load(manifest.folder).as_numpy_iterator()) == expected
    assert [len(b) for b in fitdoctor.load(manifest.folder, batch=16)] == [16, 14]
    with pytest.raises(UsageError, match="records as another program wrote them"):
        fitdoctor.load(manifest.folder, kind="torch")


def test_the_work_is_done_once(tf: Any, tmp_path: Path) -> None:
    calls: list[int] = []

    def work(x: Any) -> Any:
        calls.append(int(x))
        return x * 2

    data = tf.data.Dataset.range(60).map(
        lambda x: tf.ensure_shape(tf.numpy_function(work, [x], tf.int64), ())
    )
    data.apply(fitdoctor.packed(tmp_path))
    assert set(calls) == set(range(60))
    calls.clear()
    stored = data.apply(fitdoctor.packed(tmp_path))
    for _ in range(3):
        assert list(stored.as_numpy_iterator()) == list(range(0, 120, 2))
    # A few are made again to see that they are still the same; buffers run a little ahead.
    assert max(calls) < 40


def test_a_changed_pipeline_is_packed_beside_the_old_one(
    tf: Any, tmp_path: Path, capfd: Any
) -> None:
    numbers = tf.data.Dataset.range(60)
    later = numbers.concatenate(tf.data.Dataset.range(3))
    for data in (numbers, numbers.map(lambda x: x + 1), later, numbers):
        stored = data.apply(fitdoctor.packed(tmp_path))
        assert list(stored.as_numpy_iterator()) == list(data.as_numpy_iterator())
    assert len(packs(tmp_path)) == 3
    assert "also holds 2 other packs" in capfd.readouterr().err


def test_files_that_changed_under_their_names_are_noticed_at_the_beginning(
    tf: Any, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    data = tf.data.TextLineDataset([str(path)])
    for text in ("one\ntwo\n", "three\nfour\n"):
        path.write_text(text)
        stored = data.apply(fitdoctor.packed(tmp_path / "out"))
        assert b"\n".join(stored.as_numpy_iterator()).decode() == text.strip()


def test_interrupted_it_goes_on(tf: Any, tmp_path: Path, monkeypatch: Any) -> None:
    data = tf.data.Dataset.range(3000)
    real, left = packed_module._Progress.report, [2000]

    def stopping(self: Any, items: int, count_bytes: int) -> None:
        left[0] -= items
        if left[0] < 0:
            raise KeyboardInterrupt
        real(self, items, count_bytes)

    monkeypatch.setattr(packed_module._Progress, "report", stopping)
    with pytest.raises(KeyboardInterrupt):
        data.apply(fitdoctor.packed(tmp_path))
    assert packs(tmp_path) == []
    monkeypatch.undo()
    stored = data.apply(fitdoctor.packed(tmp_path))
    assert list(stored.as_numpy_iterator()) == list(range(3000))


def test_two_at_once_one_writes_and_both_read(tf: Any, tmp_path: Path, capfd: Any) -> None:
    data = tf.data.Dataset.range(2000)
    found: list[list[int]] = []

    def read() -> None:
        found.append(list(data.apply(fitdoctor.packed(tmp_path)).as_numpy_iterator()))

    threads = [threading.Thread(target=read) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [list(range(2000))] * 2
    assert capfd.readouterr().err.count("packed 2,000 elements") == 1
    assert len(packs(tmp_path)) == 1


def test_a_finished_pack_needs_no_right_to_write(tf: Any, tmp_path: Path) -> None:
    data = tf.data.Dataset.range(20)
    data.apply(fitdoctor.packed(tmp_path))
    (manifest,) = packs(tmp_path)
    before = sorted(path.name for path in manifest.folder.iterdir())
    manifest.folder.chmod(0o555)
    try:
        assert len(list(data.apply(fitdoctor.packed(tmp_path)))) == 20
        assert sorted(path.name for path in manifest.folder.iterdir()) == before
    finally:
        manifest.folder.chmod(0o755)
