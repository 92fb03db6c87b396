"""A case: the scripts of one folder and what fitdoctor is expected to say about them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BACKENDS = ("tensorflow", "jax", "torch")
EXACTNESS = ("=", "~", "!=")
NEEDS = ("", "gpu")
DEVICES = ("", "cpu", "gpu")
RULE_CODE = re.compile(r"[A-Z]{2}\d{3}")
REQUIRED = ("id", "title", "backend", "expect", "exactness", "where")
OPTIONAL = (
    "allow",
    "forbid",
    "forbid_text",
    "env",
    "launcher",
    "note",
    "script",
    "joint",
    "whole",
    "needs",
    "devices",
    "option",
    "warning",
)


class CaseError(ValueError):
    """A case folder that cannot be used; the message names the file and the field."""


@dataclass(frozen=True)
class Where:
    """The source line that the finding should point to: any of `contains`, or any line if empty."""

    file: str
    contains: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """One folder of the casebook. An empty `expect` means: healthy, nothing to cure.

    `script` names another case whose slow.py and fixed.py are used: one pair of scripts on several
    backends. `joint` means that fixed.py cures several causes, so that the joint gain is judged.
    """

    folder: Path
    id: str
    title: str
    backend: str
    expect: str
    exactness: str
    where: Where
    allow: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()
    forbid_text: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    launcher: tuple[str, ...] = ()
    note: str = ""
    script: str = ""
    joint: bool = False
    whole: bool = (
        False  # the gain is of the whole process, start included; fixed.py runs once before
    )
    needs: str = ""  # "gpu": skipped where there is none
    devices: str = ""  # what `fitdoctor devices` is to advise for the same script
    option: str = ""  # what is to be offered below a healthy verdict
    warning: str = ""  # the rule that is to warn beside a healthy verdict

    @property
    def is_healthy(self) -> bool:
        return self.expect == ""

    @property
    def scripts(self) -> Path:
        """The folder that holds slow.py and fixed.py."""
        return self.folder.parent / self.script if self.script else self.folder

    @property
    def slow(self) -> Path:
        return self.scripts / "slow.py"

    @property
    def fixed(self) -> Path:
        return self.scripts / "fixed.py"

    @property
    def modules(self) -> tuple[Path, ...]:
        """The user's own modules beside the two scripts, which import them."""
        scripts = {self.slow, self.fixed}
        return tuple(path for path in sorted(self.scripts.glob("*.py")) if path not in scripts)

    @property
    def environment(self) -> dict[str, str]:
        """What the scripts need in their environment: a shared script does not name its backend."""
        return {"KERAS_BACKEND": self.backend, **self.env}


def load_case(folder: Path) -> Case:
    """Read and validate one folder.

    Raises:
        CaseError: a file is missing or a field is not what it must be.
    """
    path = folder / "case.toml"
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CaseError(f"{path}: not found; each case folder needs a case.toml") from None
    except tomllib.TOMLDecodeError as error:
        raise CaseError(f"{path}: not valid TOML: {error}") from None
    _check_names(path, data)
    case = Case(
        folder=folder,
        id=_text(path, data, "id"),
        title=_text(path, data, "title"),
        backend=_one_of(path, data, "backend", BACKENDS),
        expect=_rule_or_nothing(path, data),
        exactness=_one_of(path, data, "exactness", EXACTNESS),
        where=_where(path, data["where"]),
        allow=_rules(path, data, "allow"),
        forbid=_rules(path, data, "forbid"),
        forbid_text=_texts(path, data, "forbid_text"),
        env=_environment(path, data),
        launcher=_texts(path, data, "launcher"),
        note=_text(path, data, "note") if "note" in data else "",
        script=_script(path, data),
        joint=_flag(path, data, "joint"),
        whole=_flag(path, data, "whole"),
        needs=_one_of(path, {"needs": "", **data}, "needs", NEEDS),
        devices=_one_of(path, {"devices": "", **data}, "devices", DEVICES),
        option=_text(path, data, "option") if "option" in data else "",
        warning=_text(path, data, "warning") if "warning" in data else "",
    )
    _check_consistency(path, case)
    return case


def load_all(root: Path) -> dict[str, Case]:
    """Every case below `root`, by id, in order of id."""
    folders = sorted(path.parent for path in root.glob("*/case.toml"))
    return {case.id: case for case in map(load_case, folders)}


def _check_names(path: Path, data: Mapping[str, Any]) -> None:
    missing = [name for name in REQUIRED if name not in data]
    if missing:
        raise CaseError(f"{path}: missing {', '.join(missing)}")
    # A misspelt optional field would otherwise silently switch off its check.
    unknown = sorted(set(data) - set(REQUIRED) - set(OPTIONAL))
    if unknown:
        known = ", ".join(REQUIRED + OPTIONAL)
        raise CaseError(f"{path}: unknown field {', '.join(unknown)}; known are {known}")


def _check_consistency(path: Path, case: Case) -> None:
    if case.id != case.folder.name:
        raise CaseError(f"{path}: id is {case.id!r} but the folder is {case.folder.name!r}")
    both = sorted({case.expect, *case.allow} & set(case.forbid))
    if both:
        raise CaseError(f"{path}: {', '.join(both)} is expected or allowed and forbidden")
    if not case.slow.is_file():
        raise CaseError(f"{case.slow}: not found; each case needs it")
    if not case.is_healthy and not case.fixed.is_file():
        raise CaseError(f"{case.fixed}: not found; only a healthy case has no cure")
    pointed_to = case.scripts / case.where.file
    if not pointed_to.is_file():
        raise CaseError(f"{path}: where.file {case.where.file!r} is not beside slow.py")
    source = pointed_to.read_text(encoding="utf-8")
    absent = [text for text in case.where.contains if text not in source]
    if absent:
        raise CaseError(f"{path}: where.contains {absent[0]!r} is not in {pointed_to.name}")


def _text(path: Path, data: Mapping[str, Any], name: str) -> str:
    value = data[name]
    if not isinstance(value, str):
        raise CaseError(f"{path}: {name} must be a string, received {value!r}")
    return value


def _one_of(path: Path, data: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = _text(path, data, name)
    if value not in choices:
        raise CaseError(f"{path}: {name} must be one of {', '.join(choices)}, received {value!r}")
    return value


def _texts(path: Path, data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = data.get(name, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CaseError(f"{path}: {name} must be a list of strings, received {value!r}")
    return tuple(value)


def _rules(path: Path, data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    codes = _texts(path, data, name)
    for code in codes:
        _check_code(path, name, code)
    return codes


def _rule_or_nothing(path: Path, data: Mapping[str, Any]) -> str:
    code = _text(path, data, "expect")
    if code:
        _check_code(path, "expect", code)
    return code


def _check_code(path: Path, name: str, code: str) -> None:
    if not RULE_CODE.fullmatch(code):
        raise CaseError(f"{path}: {name} must hold rule codes like IN001, received {code!r}")


def _where(path: Path, value: Any) -> Where:
    if not isinstance(value, dict) or not isinstance(value.get("file"), str):
        raise CaseError(
            f'{path}: where must be {{ file = "…", contains = "…" }}, received {value!r}'
        )
    contains = value.get("contains", "")
    if isinstance(contains, str):
        contains = [contains] if contains else []
    return Where(
        file=value["file"], contains=_texts(path, {"where.contains": contains}, "where.contains")
    )


def _script(path: Path, data: Mapping[str, Any]) -> str:
    name = _text(path, data, "script") if "script" in data else ""
    # A path here would run a file outside the casebook.
    if name and (Path(name).name != name or name == ".."):
        raise CaseError(f"{path}: script must be the id of another case, received {name!r}")
    return name


def _flag(path: Path, data: Mapping[str, Any], name: str) -> bool:
    value = data.get(name, False)
    if not isinstance(value, bool):
        raise CaseError(f"{path}: {name} must be true or false, received {value!r}")
    return value


def _environment(path: Path, data: Mapping[str, Any]) -> dict[str, str]:
    value = data.get("env", {})
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise CaseError(f"{path}: env must be a table of strings, received {value!r}")
    return dict(value)
