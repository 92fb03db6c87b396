from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from packs import elements, images, packed, picture, table

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.sources.csv_file import open_csv, row_edges
from fitdoctor.pack.sources.data_source import even_ranges
from fitdoctor.pack.sources.opening import open_source

MODULE = """
import numpy as np
def stream():
    for i in range(300):
        yield np.full(4, i, "f4"), i
class Squares:
    def __len__(self): return 300
    def __getitem__(self, i): return {"x": np.full(4, i, "f4"), "y": i * i}
def squares(): return Squares()
def nothing(): return []
def number(): return 3
def fails(): raise RuntimeError("no such disk")
def batches():
    for i in range(10):
        yield np.full((8, 2), i), np.arange(8)
def changes():
    for i in range(20):
        yield (np.zeros(3 if i < 12 else 4), i)
def stops():
    yield 1
    raise OSError("gone")
def half(element): return {"x": element["x"] / 2, "y": element["y"]}
def picky(element):
    if element["y"] == 25: raise ValueError("five")
    return element
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"packed_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return name


@pytest.mark.parametrize(
    "spec", ["nothing.csv", "no_such_module:f", "nothing", "os:no_such_function", "a b:c"]
)
def test_what_is_not_there_is_refused(spec: str) -> None:
    with pytest.raises(UsageError):
        open_source(spec)


def test_foreign_and_damaged_files_are_refused(tmp_path: Path) -> None:
    for name in ("a.npy", "a.npz", "a.h5", "a.parquet", "a.zip"):
        (tmp_path / name).write_bytes(b"not what the name says")
        with pytest.raises(UsageError):
            open_source(str(tmp_path / name))
    (tmp_path / "a.csv").write_bytes(b"")
    with pytest.raises(UsageError, match="CSV"):
        open_source(str(tmp_path / "a.csv"))


def test_objects_in_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{"code": 1}], object), allow_pickle=True)
    with pytest.raises(UsageError):
        open_source(str(tmp_path / "a.npy"))


def test_arrays_of_different_lengths_are_refused_unless_chosen(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x_train=np.zeros((5, 2)), y_train=np.arange(5), x_test=np.zeros((3, 2)))
    with pytest.raises(UsageError, match=r"x_train: 5, .*x_test: 3"):
        open_source(str(path))
    with pytest.raises(UsageError, match="no z"):
        open_source(str(path), fields=("z",))
    made = packed(path, tmp_path / "o", opening={"fields": ("x_train", "y_train")}).manifest
    assert [e["y_train"].item() for e in elements(made)] == list(range(5))


@settings(deadline=None)
@given(st.integers(0, 500), st.floats(0.1, 1e7), st.integers(1, 10**7), st.integers(1, 20))
def test_ranges_hold_every_item_once(
    count: int, item_bytes: float, shard_bytes: int, at_least: int
) -> None:
    ranges = even_ranges(count, item_bytes, shard_bytes, at_least)
    held = [n for part in ranges for n in range(part.start, part.stop)]
    assert held == list(range(count))
    assert all(part.start < part.stop for part in ranges)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("file_format", ["tfrecord", "arrayrecord"])
def test_arrays_come_back(tmp_path: Path, compressed: bool, file_format: str) -> None:
    path = table(tmp_path)
    arrays = dict(np.load(path))
    if compressed:
        np.savez_compressed(path, **arrays)
    made = packed(path, tmp_path / "out", shard_bytes=9000, file_format=file_format).manifest
    assert len(made.shards) > 3
    for name, array in arrays.items():
        again = np.stack([element[name] for element in elements(made)])
        assert again.dtype == array.dtype
        assert (again == array).all()


def test_wide_rows_and_hdf5(tmp_path: Path) -> None:
    import h5py

    values = np.arange(20 * 50 * 30, dtype=np.int32).reshape(20, 50, 30)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["group/x"] = values
        file["name"] = [f"n{i}" for i in range(20)]
    made = elements(packed(tmp_path / "a.h5", tmp_path / "out").manifest)
    assert (np.stack([element["group/x"] for element in made]) == values).all()
    assert [element["name"] for element in made] == [f"n{i}".encode() for i in range(20)]


def test_images_keep_their_bytes(tmp_path: Path) -> None:
    root = images(tmp_path)
    manifest = packed(root, tmp_path / "out", workers=2, shard_bytes=3000).manifest
    assert manifest.classes == ["cat", "dog"]
    for element in elements(manifest):
        path = root / element["name"].decode()
        assert element["image"] == path.read_bytes()
        assert element["label"] == manifest.classes.index(path.parent.name)
    assert manifest.schema[0].image == {"format": None, "height": 8, "width": 6, "channels": 3}


def test_images_without_classes_have_no_label(tmp_path: Path) -> None:
    (tmp_path / "flat").mkdir()
    (tmp_path / "flat" / "a.png").write_bytes(picture(1, kind="PNG"))
    made = packed(tmp_path / "flat", tmp_path / "out").manifest
    assert [f.name for f in made.schema] == ["image", "name"]


def test_parquet_comes_back_with_its_types(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = {
        "a": pa.array(range(5000), pa.int32()),
        "f": pa.array([i / 3 for i in range(5000)], pa.float32()),
        "t": [f"text {i}" for i in range(5000)],
        "v": [[i, i + 1] for i in range(5000)],
    }
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=700)
    made = packed(tmp_path / "a.parquet", tmp_path / "out", shard_bytes=20_000).manifest
    assert len(made.shards) > 1
    got = elements(made)
    assert [element["a"].item() for element in got] == list(range(5000))
    assert got[17]["a"].dtype == np.int32
    assert got[17]["t"] == b"text 17"
    assert got[17]["v"].tolist() == [17, 18]
    assert got[17]["f"] == np.float32(17 / 3)


def test_ragged_lists_and_missing_values_are_named(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"v": [[1, 2], [3, 4], [5]], "n": [1, None, 3]}), tmp_path / "a.parquet"
    )
    with pytest.raises(UsageError, match=r"row [12] of .*a\.parquet"):
        packed(tmp_path / "a.parquet", tmp_path / "out")
    made = packed(tmp_path / "a.parquet", tmp_path / "other", skip_bad=True).manifest
    assert [element["v"].tolist() for element in elements(made)] == [[1, 2]]
    assert [bad.reason for bad in made.skipped] == [
        "'n' has no value",
        "'v' is a ragged list of 1, others have 2",
    ]


def test_types_that_cannot_be_stored_are_named(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    when = pa.array([0, 1], pa.timestamp("s"))
    pq.write_table(pa.table({"when": when, "n": [1, 2]}), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="'when' has the type timestamp"):
        packed(tmp_path / "a.parquet", tmp_path / "out")
    packed(tmp_path / "a.parquet", tmp_path / "out", opening={"fields": ("n",)})


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=8)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-9, 9), TEXT), min_size=1, max_size=60), st.integers(1, 400))
def test_csv_comes_back_wherever_it_is_cut(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, str]], cut: int
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    with open(folder / "a.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(["n", "t"])
        writer.writerows(rows)
    source = open_csv(folder / "a.csv", (), {"t": "string"})
    from fitdoctor.pack.sources.data_source import Range

    edges = row_edges(folder / "a.csv", cut)
    got = []
    for (at, before), (until, after) in itertools.pairwise(edges):
        if after > 1:
            for block in source.blocks(Range(max(0, before - 1), after - 1, (at, until))):
                assert not block.bad
                got += [(int(e["n"]), e["t"].decode()) for _, e in block.each()]
    assert got == rows


def test_ragged_and_wrong_csv_rows_are_named(tmp_path: Path) -> None:
    lines = ["a,b", *(f"{i},{i / 2}" for i in range(100))]
    lines[51], lines[71] = "50,1,2", "70,what"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    opening = {"types": {"b": "float32"}}
    with pytest.raises(UsageError, match=r"row 50 of .*: it has 3 values; the header has 2"):
        packed(tmp_path / "a.csv", tmp_path / "out", opening=opening)
    made = packed(tmp_path / "a.csv", tmp_path / "other", skip_bad=True, opening=opening).manifest
    assert [int(e["a"]) for e in elements(made)] == [i for i in range(100) if i not in (50, 70)]
    assert [bad.item.split(" of ")[0] for bad in made.skipped] == ["row 50", "row 70"]
    assert "what" in made.skipped[1].reason


def test_functions_of_all_kinds(module: str, tmp_path: Path) -> None:
    stream = elements(packed(f"{module}:stream", tmp_path / "a", shard_bytes=3000).manifest)
    assert [element["y"].item() for element in stream] == list(range(300))
    assert stream[7]["x"].tolist() == [7.0] * 4
    made = packed(f"{module}:squares", tmp_path / "b", map_spec=f"{module}:half").manifest
    assert elements(made)[9]["x"].tolist() == [4.5] * 4
    rows = packed(f"{module}:batches", tmp_path / "c", opening={"unbatch": True}).manifest
    assert rows.records == 80
    assert rows.schema[0].shape == (2,)


def test_functions_that_give_nothing_are_refused(module: str, tmp_path: Path) -> None:
    for name, words in (("number", "int"), ("fails", "no such disk"), ("missing", "no function")):
        with pytest.raises(UsageError, match=words):
            packed(f"{module}:{name}", tmp_path / "out")
    with pytest.raises(UsageError, match="no element"):
        packed(f"{module}:nothing", tmp_path / "out")
    with pytest.raises(UsageError, match=r"item 1: the source failed: OSError: gone"):
        packed(f"{module}:stops", tmp_path / "out")


def test_a_schema_that_changes_in_the_middle_is_named(module: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"item 12: 'x' is float64 \[4\]; in the first .* \[3\]"):
        packed(f"{module}:changes", tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()
    made = packed(f"{module}:changes", tmp_path / "other", skip_bad=True).manifest
    assert (made.records, len(made.skipped)) == (12, 8)


def test_a_map_that_fails_names_the_item(module: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"item 5: the map failed: ValueError: five"):
        packed(f"{module}:squares", tmp_path / "out", map_spec=f"{module}:picky")
