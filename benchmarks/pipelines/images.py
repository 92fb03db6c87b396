"""What the image pipelines share with NumPy: decoding, cropping, and changes of colour."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
_random = np.random.default_rng()


def number_of(path: Path) -> int:
    """The id in a file's name."""
    return int(path.stem)


def opened(data: bytes | Path) -> Any:
    """A PIL image."""
    from PIL import Image

    return Image.open(io.BytesIO(data) if isinstance(data, bytes) else data).convert("RGB")


def random_crop(image: Any, size: int) -> Any:
    """Between a half and all of each side, at a random place, resized."""
    width, height = image.size
    wide, high = (int(side * _random.uniform(0.5, 1.0)) for side in (width, height))
    left, top = (int(_random.integers(0, n + 1)) for n in (width - wide, height - high))
    return image.resize((size, size), box=(left, top, left + wide, top + high))


def flipped(pixels: np.ndarray) -> np.ndarray:
    """Left becomes right, every other time."""
    return pixels[:, ::-1] if _random.random() < 0.5 else pixels


def jittered(pixels: np.ndarray) -> np.ndarray:
    """Another brightness and contrast, of floats from 0 to 1."""
    bright = pixels + np.float32(_random.uniform(-0.2, 0.2))
    mean = bright.mean()
    return np.clip((bright - mean) * np.float32(_random.uniform(0.8, 1.2)) + mean, 0, 1)


def normalised(pixels: np.ndarray) -> np.ndarray:
    return (pixels - MEAN) / STD
