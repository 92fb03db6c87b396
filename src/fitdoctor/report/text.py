"""Text that is safe to show: nothing that came from a script can steer the terminal."""

from __future__ import annotations

import os
import re
import unicodedata

# CSI (colours, cursor), OSC and other strings (titles, links), then two-character escapes.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]",
    re.DOTALL,
)
# Control, format (text direction) and private characters, line separators; a lone
# surrogate (a file name that is not UTF-8) cannot be written at all.
_UNSAFE_CATEGORIES = {"Cc", "Cf", "Co", "Zl", "Zp"}

_ASCII = str.maketrans(
    {
        "×": "x", "–": "-", "—": "-", "·": "|", "→": "->", "µ": "u", "…": "...", "’": "'",
        "█": "#", "▉": "#", "▊": "#", "▋": "#", "▌": "#", "▍": "", "▎": "", "▏": "",
        "≤": "<=", "≥": ">=", "≈": "~", "“": '"', "”": '"',
    }
)  # fmt: skip


def clean(text: str) -> str:
    r"""One line of text without escapes, control characters or changes of direction.

    Example:
        >>> clean("loss\x1b[31m\r\nNaN")
        'loss NaN'
    """
    return " ".join(without_controls(text).split())


def without_controls(text: str) -> str:
    """The text without escapes and control characters, its spaces as they are."""
    if text.isprintable():
        return text
    return "".join(map(_shown, _ESCAPES.sub("", text)))


def _shown(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cs":
        return "?"
    if category in _UNSAFE_CATEGORIES:
        return " " if character.isspace() else ""
    return character


def for_encoding(text: str, encoding: str | None) -> str:
    """The text in characters that a stream of this encoding can carry."""
    name = encoding or "utf-8"
    try:
        text.encode(name)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(name, "replace").decode(name)
    return text


def place(file: str, line: int, *, cwd: str | None = None) -> str:
    """A place in the user's source, relative to the working directory where that is shorter."""
    folder = cwd if cwd is not None else os.getcwd()
    if os.path.isabs(file):
        relative = os.path.relpath(file, folder)
        file = relative if not relative.startswith("..") else file
    return f"{clean(file)}:{line}"


def shorten_left(text: str, room: int) -> str:
    """Keep the end of a text that is too long: in a path the end tells files apart."""
    return text if len(text) <= room else "…" + text[len(text) - max(room - 1, 0) :]
