"""Lines and offsets of a text, and where the lines of its first version are now."""

from __future__ import annotations

import re
from functools import cached_property

from fitdoctor.cures.declined import DeclinedEdit

NEWLINE = re.compile(r"\r\n?|\n")


def deeper(indent: str) -> str:
    """The indentation of a block within."""
    return indent + ("\t" if indent.endswith("\t") else "    ")


class TextLines:
    """A text by lines and offsets; recorded lines are those of the text before the first change."""

    def __init__(self, text: str, lines: tuple[int, ...] | None = None) -> None:
        """`lines` has for every line of the first text its line in this one."""
        self.text = text
        count = len(NEWLINE.findall(text)) + 2
        self._lines = lines if lines is not None else tuple(range(count))

    def line_now(self, recorded: int) -> int:
        """Where a line of the first text is now.

        Raises:
            DeclinedEdit: There is no such line.
        """
        if not 1 <= recorded < len(self._lines):
            raise DeclinedEdit(f"the file has no line {recorded}")
        return self._lines[recorded]

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in NEWLINE.finditer(self.text))]

    def line_start(self, line: int) -> int:
        """The offset of a line's first character."""
        return self._starts[line - 1]

    def line_end(self, offset: int) -> int:
        """The offset of the newline, or of the end, of the line that an offset is in."""
        found = NEWLINE.search(self.text, offset)
        return found.start() if found else len(self.text)

    def after_newline(self, offset: int) -> int:
        """The offset after the newline that begins at an offset, if one does."""
        found = NEWLINE.match(self.text, offset)
        return found.end() if found else offset

    def indent_at(self, offset: int) -> str | None:
        """The white space before an offset, if nothing else comes before it in its line."""
        begin = max(start for start in self._starts if start <= offset)
        before = self.text[begin:offset]
        return before if not before.strip(" \t\f") else None

    @cached_property
    def newline(self) -> str:
        """The newline of this file: that of its first line."""
        found = NEWLINE.search(self.text)
        return found.group() if found else "\n"
