"""Encoded images: format and size from their own header, and pixels where they are asked for."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from fitdoctor.pack.extras import needed
from fitdoctor.pack.schema import BadElement

SUFFIXES = (".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp")
_PNG_CHANNELS = {0: 1, 2: 3, 3: 3, 4: 2, 6: 4}
# Markers of a JPEG's frame header; C4, C8 and CC lie among them and mean other things.
_SOF = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_NO_LENGTH = frozenset({0x01, *range(0xD0, 0xD8)})
_SOS, _EOI = 0xDA, b"\xff\xd9"


def image_facts(data: bytes) -> dict[str, Any]:
    """Format, height, width and channels; the last three are absent where not looked for.

    Raises:
        BadElement: It is not an image of a known format, or it is cut off.
    """
    if data[:2] == b"\xff\xd8":
        return _jpeg(data)
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return _png(data)
    if data[:6] in (b"GIF87a", b"GIF89a"):
        width, height = struct.unpack_from("<HH", data, 6)
        return {"format": "gif", "height": height, "width": width, "channels": 3}
    if data[:2] == b"BM" and len(data) >= 26:
        if struct.unpack_from("<I", data, 2)[0] > len(data):
            raise BadElement("the BMP file is cut off")
        return {"format": "bmp"}
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        if struct.unpack_from("<I", data, 4)[0] + 8 > len(data):
            raise BadElement("the WebP file is cut off")
        return {"format": "webp"}
    if not data:
        raise BadElement("the file is empty")
    raise BadElement(f"it is no image of a known format: it begins with {data[:8]!r}")


def _jpeg(data: bytes) -> dict[str, Any]:
    at, end, found = 2, len(data), None
    while at + 4 <= end:
        if data[at] != 0xFF:
            break
        marker = data[at + 1]
        if marker == 0xFF or marker in _NO_LENGTH:  # fill bytes, markers without a length
            at += 1 if marker == 0xFF else 2
            continue
        length = (data[at + 2] << 8) | data[at + 3]
        if marker in _SOF and at + 10 <= end:
            height, width, channels = struct.unpack_from(">HHB", data, at + 5)
            found = {"format": "jpeg", "height": height, "width": width, "channels": channels}
            if data.endswith(_EOI):  # as nearly all do: no need to look further
                return found
        at += 2 + length
        if marker == _SOS:
            # Inside the coded data the end marker cannot occur by chance.
            if found and data.find(_EOI, at) >= 0:
                return found
            raise BadElement("the JPEG file is cut off")
    raise BadElement("the JPEG file is cut off" if at >= end - 4 else "the JPEG header is damaged")


def _png(data: bytes) -> dict[str, Any]:
    if len(data) < 33 or data[12:16] != b"IHDR":
        raise BadElement("the PNG header is damaged")
    if b"IEND" not in data[-64:] and b"IEND" not in data:
        raise BadElement("the PNG file is cut off")
    width, height = struct.unpack_from(">II", data, 16)
    channels = _PNG_CHANNELS.get(data[25])
    if channels is None:
        raise BadElement("the PNG header is damaged")
    return {"format": "png", "height": height, "width": width, "channels": channels}


def agreed(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What two sets of facts have in common; `{}` as the first means "none yet"."""
    if not one:
        return dict(other)
    if one == other:
        return one
    return {key: value if other.get(key) == value else None for key, value in one.items()}


def decoded(data: bytes, size: tuple[int, int] | None) -> np.ndarray[Any, Any]:
    """An image as uint8, height by width by 3; resized (bilinear) when a size is given.

    Raises:
        BadElement: It cannot be decoded.
    """
    image_module = needed("PIL.Image", "pack")
    try:
        with image_module.open(io.BytesIO(data)) as image:
            picture = image.convert("RGB")
            if size is not None:
                picture = picture.resize((size[1], size[0]), image_module.Resampling.BILINEAR)
            return np.asarray(picture, np.uint8)
    except (OSError, ValueError, SyntaxError, image_module.DecompressionBombError) as error:
        raise BadElement(f"the image cannot be decoded: {error}") from error
