"""FINDINGS -> PATCH: every cure whole or not at all, and why those left out were left out."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple

from fitdoctor.contract.changed_calls import ChangedCall
from fitdoctor.cures.draft import AlreadyThere, ContradictedEdit, DeclinedEdit, Draft
from fitdoctor.cures.edit_engine import edited
from fitdoctor.cures.source_text import Source, read_source, unified_diff
from fitdoctor.cures.without_source import changed_call
from fitdoctor.findings.edits import Claim, Edit
from fitdoctor.findings.finding import Finding

_LIBRARIES = tuple(
    Path(path).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
    if (path := sysconfig.get_paths().get(name))
)
_LIBRARY_FOLDERS = frozenset({"site-packages", "dist-packages"})
Kind = Literal["declined", "unsafe", "advice", "already-there", "not-chosen", "packs"]


class TextChange(NamedTuple):
    """One file's text before and after."""

    old_text: str
    new_text: str


@dataclass(frozen=True)
class Applied:
    """A cure that is in the patch."""

    finding: Finding
    edits: tuple[Edit, ...]  # those that changed something
    not_in_source: str | None = None  # why it is made in the process, and not in the source


@dataclass(frozen=True)
class Declined:
    """A cure that is not in the patch, and why."""

    finding: Finding
    kind: Kind
    reason: str
    edit: Edit | None = None  # the one that could not be made

    @property
    def advice(self) -> str:
        """What to do by hand, at which line."""
        if not self.finding.cure.edits:
            return self.finding.cure.summary
        return "; ".join(
            f"{Path(edit.where.file).name}:{edit.where.line}: {edit.in_words()}"
            for edit in self.finding.cure.edits
        )


@dataclass(frozen=True)
class Patch:
    """Changes of the user's source that are safe to make, and what was left out."""

    files: dict[Path, TextChange]  # only files that change
    applied: tuple[Applied, ...]
    declined: tuple[Declined, ...]
    sources: dict[Path, Source] = field(default_factory=dict)  # as read, by path
    calls: tuple[ChangedCall, ...] = ()  # that are changed in the running script

    def __bool__(self) -> bool:
        return bool(self.files or self.calls)

    def diff(self, root: Path | None = None) -> str:
        """The unified diff of all files, with paths relative to a folder."""
        return "".join(
            unified_diff(path, change.old_text, change.new_text, root or Path.cwd())
            for path, change in sorted(self.files.items())
        )

    def diff_bytes(self, root: Path | None = None) -> bytes:
        """The diff in the encodings of the files, byte order marks included: for `patch`."""
        found = b""
        for path, change in sorted(self.files.items()):
            mark = "\ufeff" if self.sources[path].bom else ""
            old, new = mark + change.old_text, mark + change.new_text
            text = unified_diff(path, old, new, root or Path.cwd())
            found += text.encode(self.sources[path].encoding, "surrogateescape")
        return found

    def new_bytes(self, path: Path) -> bytes:
        """What a file would hold, in its own encoding."""
        return self.sources[path].encoded(self.files[path].new_text)


def plan(
    findings: Iterable[Finding],
    *,
    unsafe: bool = False,
    roots: Sequence[Path] | None = None,
    sources: Mapping[Path, Source] | None = None,
    pack: str | None = None,
    in_process: bool = False,
) -> Patch:
    """The patch that makes the cures of these findings.

    Args:
        findings: In the order in which they may claim a line; usually the largest gain first.
        unsafe: Also make cures that may change numbers, order or callback granularity.
        roots: Folders of the project: nothing outside is changed. The first one is what
            relative paths are relative to. Default: the working directory.
        sources: Files as they were recorded, where they are not as they lie on disk.
        pack: The folder for cures that store data; None: such cures are not made.
        in_process: Make cures that the source cannot take in the running script.
    """
    folders = [root.resolve() for root in ([Path.cwd()] if roots is None else roots)]
    planner = _Planner(folders, dict(sources or {}), pack, in_process)
    for finding in findings:
        planner.add(finding, unsafe=unsafe)
    return planner.patch()


# What a rule has done at a call: file, line, call, and a keyword or "" for its place.
_Claims = dict[tuple[Path, int, str, str], tuple[Finding, Claim]]


def _claim(path: Path, finding: Finding, edit: Edit, claims: _Claims) -> None:
    """Decline what contradicts an edit of another finding at the same call."""
    wanted = edit.claim()
    if wanted is None:
        return
    key = (path, edit.where.line, wanted.call, wanted.keyword)
    first, made = claims.setdefault(key, (finding, wanted))
    if made != wanted and first is not finding:
        raise ContradictedEdit(made.taken_by(first.rule))


@dataclass
class _Planner:
    """Works cures into drafts, one after the other."""

    roots: list[Path]
    sources: dict[Path, Source]
    pack: str | None
    in_process: bool
    drafts: dict[Path, Draft] = field(default_factory=dict)
    claims: _Claims = field(default_factory=dict)
    applied: list[Applied] = field(default_factory=list)
    declined: list[Declined] = field(default_factory=list)
    calls: list[ChangedCall] = field(default_factory=list)

    def add(self, finding: Finding, *, unsafe: bool) -> None:
        cure = finding.cure
        if cure.safety == "advice" or not cure.edits:
            self._decline(finding, "advice", "no automatic fix")
            return
        if cure.safety == "unsafe" and not unsafe:
            self._decline(finding, "unsafe", "may change numbers or order; --unsafe makes it")
            return
        if cure.packing is not None and self.pack is None:
            cost = cure.packing.cost()
            self._decline(finding, "packs", f"the first run {cost}; --pack DEST makes it")
            return
        # All edits of a cure or none: half a cure may do harm.
        drafts, claims = dict(self.drafts), dict(self.claims)
        made: list[Edit] = []
        for edit in (wanted.stored_in(self.pack) for wanted in cure.edits):
            try:
                if self._make(finding, edit, drafts, claims):
                    made.append(edit)
            except DeclinedEdit as error:
                if not self._made_in_process(finding, error):
                    self._decline(finding, "declined", str(error), edit)
                return
        if not made:
            self._decline(finding, "already-there", "the source has it already")
            return
        self.drafts, self.claims = drafts, claims
        self.applied.append(Applied(finding, tuple(made)))

    def _made_in_process(self, finding: Finding, why: DeclinedEdit) -> bool:
        """Whether all of a cure can be done in the running script; it is then."""
        if not self.in_process or isinstance(why, ContradictedEdit):
            return False
        claims = dict(self.claims)
        try:
            for edit in finding.cure.edits:
                _claim((self.roots[0] / edit.where.file).resolve(), finding, edit, claims)
            changes = [changed_call(edit) for edit in finding.cure.edits]
        except DeclinedEdit:
            return False
        self.claims = claims
        self.calls.extend(changes)
        self.applied.append(Applied(finding, finding.cure.edits, str(why)))
        return True

    def _decline(self, finding: Finding, kind: Kind, why: str, edit: Edit | None = None) -> None:
        self.declined.append(Declined(finding, kind, why, edit))

    def _make(
        self, finding: Finding, edit: Edit, drafts: dict[Path, Draft], claims: _Claims
    ) -> bool:
        path = self._path(edit.where.file)
        _claim(path, finding, edit, claims)
        if path not in self.sources:
            self.sources[path] = read_source(path)
        source = self.sources[path]
        try:
            draft = edited(drafts.get(path) or Draft(source.text), edit)
        except AlreadyThere:
            return False
        source.encoded(draft.text)  # declines what the file's encoding cannot carry
        drafts[path] = draft
        return True

    def _path(self, file: str) -> Path:
        path = (self.roots[0] / file).resolve()
        in_library = any(path.is_relative_to(library) for library in _LIBRARIES)
        in_project = any(path.is_relative_to(root) for root in self.roots)
        if _LIBRARY_FOLDERS & set(path.parts[:-1]) or in_library or not in_project:
            raise DeclinedEdit(f"{path} is outside the project")
        return path

    def patch(self) -> Patch:
        files = {
            path: TextChange(self.sources[path].text, draft.text)
            for path, draft in self.drafts.items()
            if draft.text != self.sources[path].text
        }
        calls = tuple(self._as_now(change) for change in self.calls)
        return Patch(files, tuple(self.applied), tuple(self.declined), self.sources, calls)

    def _as_now(self, change: ChangedCall) -> ChangedCall:
        """At the line that the call has in the changed text."""
        draft = self.drafts.get((self.roots[0] / change.file).resolve())
        return change if draft is None else replace(change, line=draft.line_now(change.line))
