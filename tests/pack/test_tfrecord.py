from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from packs import framed

from fitdoctor.pack import tfrecord


def test_masked_checksums_are_the_known_ones() -> None:
    from fitdoctor.pack import checksum

    value, _ = checksum.functions()
    assert value(b"123456789") == 0xE3069283
    rotated = ((0xE3069283 >> 15) | (0xE3069283 << 17)) & 0xFFFFFFFF
    assert tfrecord.masked(0xE3069283) == (rotated + 0xA282EAD8) & 0xFFFFFFFF
    assert tfrecord.masked(0) == 0xA282EAD8


@settings(deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=20))
def test_records_come_back(tmp_path_factory: pytest.TempPathFactory, records: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("records") / "r.tfrecord"
    path.write_bytes(framed(*records))
    assert list(tfrecord.read_records(path)) == records
    data = path.read_bytes()
    assert [data[at : at + size] for at, size in tfrecord.offsets(path)] == records


@pytest.mark.parametrize("place", [0, 9, 13, 20, -1])
def test_a_changed_byte_is_found_and_placed(tmp_path: Path, place: int) -> None:
    data = bytearray(framed(b"some record", b"another"))
    data[place] ^= 1
    (tmp_path / "r").write_bytes(bytes(data))
    with pytest.raises(tfrecord.DamagedRecord, match=r"record [01] at byte"):
        list(tfrecord.read_records(tmp_path / "r"))


@settings(deadline=None)
@given(st.integers(min_value=1, max_value=22))
def test_a_cut_file_is_not_taken_for_whole(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("cut") / "r"
    whole = framed(b"first", b"second")
    path.write_bytes(whole[:-cut])
    if cut == len(whole) - len(framed(b"first")):
        assert list(tfrecord.read_records(path)) == [b"first"]
        return
    with pytest.raises(tfrecord.DamagedRecord):
        list(tfrecord.read_records(path))
