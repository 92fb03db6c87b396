"""What is seen without running, as Markdown: a section for a rule's page, and a page of its own."""

from __future__ import annotations

import inspect

from fitdoctor.lint.pattern import Pattern
from fitdoctor.lint.patterns import all_patterns

COMMAND = "python -m benchmarks.articles"


def section(code: str) -> str:
    """What `fitdoctor lint` sees of a rule's cause, empty where it sees nothing of it."""
    patterns = [pattern for pattern in all_patterns() if pattern.code == code]
    if not patterns:
        return ""
    parts = ["## Seen without running", "", "`fitdoctor lint` reports this code for:"]
    return "\n".join([*parts, *(_item(pattern) for pattern in patterns), ""])


def lint_page() -> str:
    """Every pattern with its example and its evidence."""
    parts = [_HEAD]
    for pattern in sorted(all_patterns(), key=lambda one: (one.code, _title(one))):
        parts += [
            f"## {_title(pattern)}",
            "",
            f"`{pattern.code}` {pattern.name}. {_sentence(pattern)}",
            "",
            "```python",
            pattern.example,
            "```",
            "",
            f"Evidence: {_evidence(pattern)}",
            "",
        ]
    return "\n".join(parts)


def _item(pattern: Pattern) -> str:
    return f"- {_title(pattern)}: {_sentence(pattern)} Evidence: {_evidence(pattern)}"


def _title(pattern: Pattern) -> str:
    """The name of its file, which is its idea."""
    return pattern.find.__module__.rsplit(".", 1)[-1].replace("_", " ")


def _sentence(pattern: Pattern) -> str:
    return " ".join((inspect.getdoc(pattern.find) or "").split())


def _evidence(pattern: Pattern) -> str:
    repeat = f" Repeat: `{COMMAND} {pattern.measured_by}`." if pattern.measured_by else ""
    return f"{pattern.evidence}.{repeat}"


_HEAD = """# Lint

`fitdoctor lint PATHS` reads Python files and notebooks, and runs nothing. It knows only patterns
that harm today's versions (Keras 3.15, TensorFlow 2.21, JAX 0.10, torch 2.13), each with a
measurement. Whether they matter in a given training, only `fitdoctor run` can say.

```text
$ fitdoctor lint src/
src/train.py:31:5: HO004 eager-execution: run_eagerly=True runs every step op by op in Python
fitdoctor · 1 found in 4 files
```

Exit codes are those of ruff: 0 nothing found, 1 something found, 2 wrong use; `--exit-zero` gives 0
for findings too. `--format json` prints them as data, `--format sarif` for code scanning and
editors, `--format github` as notes in a pull request. `--select` and `--ignore`
take codes or families. A comment on the first or last line of what was found leaves it out:

```python
model.compile(loss="mse", run_eagerly=True)  # fitdoctor: ignore[HO004]
```
"""
