from __future__ import annotations

from pathlib import Path

import pytest
from packs import images, packed, picture

from fitdoctor.contract.errors import UsageError
from fitdoctor.pack.encoded_images import agreed, image_facts
from fitdoctor.pack.schema import BadElement


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP"])
def test_whole_images_are_known(kind: str) -> None:
    facts = image_facts(picture(7, (8, 6), kind))
    assert facts["format"] == kind.lower()
    if kind in ("JPEG", "PNG", "GIF"):
        assert (facts["height"], facts["width"], facts["channels"]) == (8, 6, 3)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "BMP", "WEBP"])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_cut_images_are_refused(kind: str, share: float) -> None:
    data = picture(7, (64, 64), kind)
    with pytest.raises(BadElement):
        image_facts(data[: int(len(data) * share)])


def test_the_end_mark_of_a_thumbnail_is_not_the_images() -> None:
    data = picture(7, (64, 64))
    thumbnail = b"\xff\xe1\x00\x08abcd\xff\xd9"  # an APP1 segment that holds an end mark
    whole = data[:2] + thumbnail + data[2:]
    assert image_facts(whole)["height"] == 64
    with pytest.raises(BadElement, match="cut off"):
        image_facts(whole[:-10])


def test_facts_agree_or_are_unknown() -> None:
    one = {"format": "jpeg", "height": 4, "width": 5, "channels": 3}
    assert agreed({}, one) == one
    assert agreed(one, one | {"height": 7})["height"] is None
    assert agreed(agreed(one, one | {"height": 7}), one)["height"] is None
    assert agreed(one, {"format": "webp"})["width"] is None


def test_a_bad_image_is_named_and_nothing_looks_whole(tmp_path: Path) -> None:
    root = images(tmp_path)
    (root / "dog" / "3.png").write_bytes(picture(3, kind="PNG")[:40])
    with pytest.raises(UsageError, match=r"dog/3\.png: the PNG file is cut off"):
        packed(root, tmp_path / "out")
    assert not (tmp_path / "out" / "manifest.json").exists()
    assert not list((tmp_path / "out").glob("shard*"))


def test_bad_images_can_be_left_out_and_are_listed(tmp_path: Path) -> None:
    root = images(tmp_path)
    (root / "cat" / "0.jpg").write_bytes(b"not an image")  # the very first one
    (root / "dog" / "3.png").write_bytes(b"")
    manifest = packed(root, tmp_path / "out", skip_bad=True).manifest
    assert manifest.records == 18
    assert {bad.item for bad in manifest.skipped} == {"cat/0.jpg", "dog/3.png"}


def test_a_pack_that_met_a_bad_image_goes_on_without_it(tmp_path: Path) -> None:
    root = images(tmp_path, per_class=300)
    (root / "dog" / "99.png").write_bytes(b"")  # not in the first block, nor in the first shard
    with pytest.raises(UsageError, match=r"dog/99\.png: the file is empty"):
        packed(root, tmp_path / "out", shard_bytes=30_000)
    done = packed(root, tmp_path / "out", shard_bytes=30_000, skip_bad=True)
    assert done.kept_shards > 0
    assert (done.manifest.records, len(done.manifest.skipped)) == (599, 1)


def test_a_folder_without_images_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no images"):
        packed(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_decoding_needs_one_size_or_is_given_one(tmp_path: Path) -> None:
    root = images(tmp_path)
    (root / "cat" / "9.png").write_bytes(picture(1, (20, 20), "PNG"))
    with pytest.raises(UsageError, match=r"cat/9\.png: 'image' is uint8 \[20, 20, 3\]"):
        packed(root, tmp_path / "out", opening={"decode": True})
    manifest = packed(root, tmp_path / "sized", opening={"decode": True, "size": (4, 5)}).manifest
    assert manifest.schema[0].shape == (4, 5, 3)
