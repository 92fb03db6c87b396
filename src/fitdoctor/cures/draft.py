"""The text of one file while cures are worked into it.

LibCST tells where things are; changes are splices of the text, so that everything else
stays as it was typed. Recorded lines are those of the text before the first change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple, TypeVar, cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

from fitdoctor.cures.declined import DeclinedEdit
from fitdoctor.cures.text_lines import NEWLINE, TextLines

_Node = TypeVar("_Node", bound=cst.CSTNode)


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
        draft = Draft(text, tuple(lines))
        try:
            cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            raise DeclinedEdit("the change would not be valid Python here") from error
        return draft


def _shifted(lines: list[int], text: str, splice: Splice) -> list[int]:
    """Where the lines are after a splice."""
    before = text[: splice.start]
    line = len(NEWLINE.findall(before)) + 1
    added = len(NEWLINE.findall(splice.text)) - len(
        NEWLINE.findall(text[splice.start : splice.end])
    )
    whole_lines = not before or before.endswith(("\n", "\r"))
    first = line if whole_lines and splice.text.endswith(("\n", "\r")) else line + 1
    return [max(line, now + added) if now >= first else now for now in lines]
