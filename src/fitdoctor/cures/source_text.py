"""A source file as it lies on disk: its text, and how to write the text back byte for byte."""

from __future__ import annotations

import codecs
import difflib
import hashlib
import io
import os
import re
import tokenize
from dataclasses import dataclass
from pathlib import Path

from fitdoctor.cures.draft import DeclinedEdit

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_NO_NEWLINE = "\\ No newline at end of file\n"


@dataclass(frozen=True)
class Source:
    """The decoded text with its newlines as they are, and what encodes it again."""

    path: Path
    text: str
    encoding: str
    bom: bool

    def encoded(self, text: str) -> bytes:
        """A new text in this file's encoding.

        Raises:
            DeclinedEdit: The encoding cannot carry it.
        """
        try:
            body = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            raise DeclinedEdit(f"{self.path.name} is in {self.encoding}: {error}") from error
        return codecs.BOM_UTF8 + body if self.bom else body

    @property
    def sha256(self) -> str:
        """The digest of the file's bytes."""
        return digest(self.encoded(self.text))


def read_source(path: Path) -> Source:
    """Read a source file without changing a byte of it.

    Raises:
        DeclinedEdit: It cannot be read, or is not Python text in its declared encoding.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DeclinedEdit(f"cannot read {path}: {error.strerror}") from error
    return decoded(path, data)


def decoded(path: Path, data: bytes) -> Source:
    """The source that these bytes are.

    Raises:
        DeclinedEdit: They are not Python text in their declared encoding.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        bom = data.startswith(codecs.BOM_UTF8)
        name = "utf-8" if bom else encoding
        source = Source(path, data[3 * bom :].decode(name), name, bom)
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise DeclinedEdit(f"{path.name} is not text in its encoding: {error}") from error
    if source.encoded(source.text) != data:  # an encoding with several forms of one character
        raise DeclinedEdit(f"{path.name} cannot be written back byte for byte in {name}")
    return source


def digest(data: bytes) -> str:
    """The SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def unified_diff(path: Path, old: str, new: str, root: Path) -> str:
    """The difference of one file, as `patch` and `git apply` take it; empty where there is none.

    A carriage return stays at the end of its line, as git has it.
    """
    name = os.path.relpath(path, root)
    shown = str(path).lstrip(os.sep) if name.startswith("..") else name
    lines = difflib.unified_diff(
        _LINES.findall(old), _LINES.findall(new), f"a/{shown}", f"b/{shown}"
    )
    return "".join(line if line.endswith("\n") else f"{line}\n{_NO_NEWLINE}" for line in lines)
