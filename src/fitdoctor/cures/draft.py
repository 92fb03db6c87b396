"""The text of one file while cures are worked into it.

LibCST tells where things are; changes are splices of the text, so that everything else
stays as it was typed. Recorded lines are those of the text before the first change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

_Node = TypeVar("_Node", bound=cst.CSTNode)
_NEWLINE = re.compile(r"\r\n?|\n")


class DeclinedEdit(Exception):
    """An edit that cannot be made safely; the message is the reason."""


class AlreadyThere(Exception):
    """An edit that the source has already; the rest of its cure may still be made."""


class ContradictedEdit(DeclinedEdit):
    """An edit that contradicts another cure of the same patch."""


def deeper(indent: str) -> str:
    """The indentation of a block within."""
    return indent + ("\t" if indent.endswith("\t") else "    ")


class TextLines:
    """A text by lines and offsets; recorded lines are those of the text before the first change."""

    def __init__(self, text: str, lines: tuple[int, ...] | None = None) -> None:
        """`lines` has for every line of the first text its line in this one."""
        self.text = text
        count = len(_NEWLINE.findall(text)) + 2
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
        return [0, *(found.end() for found in _NEWLINE.finditer(self.text))]

    def line_start(self, line: int) -> int:
        """The offset of a line's first character."""
        return self._starts[line - 1]

    def line_end(self, offset: int) -> int:
        """The offset of the newline, or of the end, of the line that an offset is in."""
        found = _NEWLINE.search(self.text, offset)
        return found.start() if found else len(self.text)

    def past(self, pattern: re.Pattern[str], offset: int) -> int:
        """The offset after what matches a pattern at an offset, if something does."""
        found = pattern.match(self.text, offset)
        return found.end() if found else offset

    def after_newline(self, offset: int) -> int:
        """The offset after the newline that begins at an offset, if one does."""
        return self.past(_NEWLINE, offset)

    def indent_at(self, offset: int) -> str | None:
        """The white space before an offset, if nothing else comes before it in its line."""
        begin = max(start for start in self._starts if start <= offset)
        before = self.text[begin:offset]
        return before if not before.strip(" \t\f") else None

    @cached_property
    def newline(self) -> str:
        """The newline of this file: that of its first line."""
        found = _NEWLINE.search(self.text)
        return found.group() if found else "\n"


class Splice(NamedTuple):
    """A piece of text to put in place of another."""

    start: int
    end: int
    text: str


class Draft(TextLines):
    """One version of a file's text with its syntax tree; a change gives another draft."""

    @cached_property
    def _wrapper(self) -> MetadataWrapper:
        try:
            module = cst.parse_module(self.text)
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise DeclinedEdit("the file is not plain Python") from error
        if module.code != self.text:
            raise DeclinedEdit("the file cannot be taken apart and put together unchanged")
        return MetadataWrapper(module, unsafe_skip_copy=True)

    @property
    def module(self) -> cst.Module:
        """The parsed text."""
        return self._wrapper.module

    @cached_property
    def _positions(self) -> Mapping[cst.CSTNode, CodeRange]:
        return cast(Mapping[cst.CSTNode, CodeRange], self._wrapper.resolve(PositionProvider))

    @cached_property
    def _parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        return cast(Mapping[cst.CSTNode, cst.CSTNode], self._wrapper.resolve(ParentNodeProvider))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The node that a node is a part of."""
        return self._parents.get(node)

    def ancestors(self, node: cst.CSTNode) -> Iterable[cst.CSTNode]:
        """The nodes around a node, the nearest first."""
        above = self.parent(node)
        while above is not None:
            yield above
            above = self.parent(above)

    def nearest(self, node: cst.CSTNode, kind: type[_Node]) -> _Node | None:
        """The nearest node of a kind around a node."""
        return next((one for one in self.ancestors(node) if isinstance(one, kind)), None)

    def nodes(self, kind: type[_Node]) -> list[_Node]:
        """All nodes of a kind, in the order of the text."""
        found = [node for node in self._positions if isinstance(node, kind)]
        return sorted(found, key=lambda node: (self.start(node), -self.end(node)))

    def lines(self, node: cst.CSTNode) -> range:
        """The lines that a node reaches over."""
        span = self._positions[node]
        return range(span.start.line, span.end.line + 1)

    def start(self, node: cst.CSTNode) -> int:
        """The offset of a node's first character."""
        at = self._positions[node].start
        return self.line_start(at.line) + at.column

    def end(self, node: cst.CSTNode) -> int:
        """The offset after a node's last character."""
        at = self._positions[node].end
        return self.line_start(at.line) + at.column

    def code(self, node: cst.CSTNode) -> str:
        """A node's text."""
        return self.text[self.start(node) : self.end(node)]

    def instead(self, node: cst.CSTNode, text: str) -> Splice:
        """The splice that puts text in a node's place."""
        return Splice(self.start(node), self.end(node), text)

    # -- changes ---------------------------------------------------------------------

    def spliced(self, *splices: Splice) -> Draft:
        """The text with pieces replaced.

        Raises:
            DeclinedEdit: The result would not be Python.
        """
        text, lines = self.text, list(self._lines)
        for splice in sorted(splices, reverse=True):
            lines = _shifted(lines, text, splice)
            text = text[: splice.start] + splice.text + text[splice.end :]
        try:
            cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            raise DeclinedEdit("the change would not be valid Python here") from error
        return Draft(text, tuple(lines))


def _shifted(lines: list[int], text: str, splice: Splice) -> list[int]:
    """Where the lines are after a splice."""
    before = text[: splice.start]
    line = len(_NEWLINE.findall(before)) + 1
    removed = len(_NEWLINE.findall(text[splice.start : splice.end]))
    added = len(_NEWLINE.findall(splice.text)) - removed
    whole_lines = not before or before.endswith(("\n", "\r"))
    first = line if whole_lines and splice.text.endswith(("\n", "\r")) else line + 1
    return [max(line, now + added) if now >= first else now for now in lines]
