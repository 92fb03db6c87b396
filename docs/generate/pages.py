"""Pages made from what is the source of their facts: rules, commands, benchmark results.

A hook of mkdocs: every build makes the pages again; they are never stored.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
# While mkdocs loads a hook, modules beside it are found; the claims also need the benchmarks.
sys.path.insert(0, str(ROOT))
import claims_tables  # noqa: E402
import library_reference  # noqa: E402


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    from fitdoctor.lint.lint_page import lint_page, section
    from fitdoctor.rules import all_rules

    rules = all_rules()
    pages = {
        f"rules/{rule.code}.md": f"{rule.page.strip()}\n\n{section(rule.code)}" for rule in rules
    }
    pages["lint.md"] = lint_page()
    pages["rules.md"] = _rules(rules)
    pages["commands.md"] = _commands()
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put tables of results where a page asks for them, as in `{{ overhead }}`."""
    tables = {
        "overhead": _overhead,
        "casebook": _casebook,
        "matrix": _matrix,
        "injected": _injected,
        "first_sight": _first_sight,
        "articles": claims_tables.articles,
        "articles_machine": claims_tables.machine,
        "advice": claims_tables.advice,
        "library": library_reference.library,
    }
    return re.sub(
        r"\{\{ (\w+) \}\}", lambda m: tables[m[1]]() if m[1] in tables else m[0], markdown
    )


def _rules(rules: Any) -> str:
    rows = [
        f"| [{r.code}](rules/{r.code}.md) | {r.name} | {r.summary} | {r.safety} |" for r in rules
    ]
    head = ["# Rules", "", "| code | name | what it finds | cure |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, ""])


def _commands() -> str:
    """The help of every command, as the command itself gives it."""
    import click

    from fitdoctor.cli import COMMANDS, cli

    parts = ["# Commands", ""]
    with click.Context(cli, info_name="fitdoctor") as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            if command is not None:
                with click.Context(command, info_name=name, parent=context) as inner:
                    parts += [
                        f"## fitdoctor {name}",
                        "",
                        "```text",
                        command.get_help(inner),
                        "```",
                        "",
                    ]
    return "\n".join(parts)


def _overhead() -> str:
    data = _read("overhead.json")
    rows = [
        f"| {r['backend']} | {r['step_ms']:.1f} ms "
        f"| {r['ratio']:.2f} ({r['low']:.2f}–{r['high']:.2f}) |"
        for r in data["rows"]
    ]
    where = f"Measured on {data['date']} with {data['machine']['cpus']} cores."
    return "\n".join(["| backend | step | with / without |", "|---|---|---|", *rows, "", where])


def _injected() -> str:
    """Known waste in a known place, and what the account made of it."""
    data = _read("injected.json")
    rows = [
        f"| {r['backend']} | {r['place'].replace('_', ' ')} | {r['kind']} | {r['truth']:.0%} "
        f"| {r['account']:.0%} |"
        for r in data["rows"]
    ]
    head = "| backend | waste in the | kind | share of a step | share in the account |"
    newest = max(row["date"] for row in data["rows"])
    where = f"Measured until {newest} with {data['machine']['cpus']} cores."
    return "\n".join([head, "|---|---|---|---|---|", *rows, "", where])


def _first_sight() -> str:
    """Scripts by people who did not know fitdoctor: every row is the first verdict on it."""
    lines = ["| script | backend | truth | first finding | right |", "|---|---|---|---|---|"]
    for path in sorted(RESULTS.glob("first_sight_*.json")):
        for r in json.loads(path.read_text(encoding="utf-8"))["rows"]:
            found = r.get("findings") or []
            named = found[0]["rule"] if found else r["verdict"] or "no verdict"
            truth = "healthy" if r["healthy"] else str(r["cause"]).replace("|", "/")
            lines.append(
                f"| {path.stem[-1]}/{r['script']}, {r['kind']} | {r['backend']} | {truth} "
                f"| {named} | {'yes' if r['is_right'] else 'no'} |"
            )
    return "\n".join(lines)


def _casebook() -> str:
    data = _read("casebook.json")
    rows = [
        f"| {c['id']} | {c['expect'] or 'nothing'} | {', '.join(c['found']) or 'nothing'} "
        f"| {_ratio(c['predicted'])} | {_ratio(c['real'])} | {'yes' if c['right'] else 'no'} |"
        for c in data["cases"]
    ]
    head = "| case | cause | found | predicted gain | real gain | right |"
    return "\n".join([head, "|---|---|---|---|---|---|", *rows])


def _matrix() -> str:
    """What came of each Python, Keras and backend."""
    rows = [
        f"| {r['python']} | {r.get('keras_is') or r['keras']} "
        f"| {r['backend']} {r.get('backend_is') or ''} | {r['failed'] or r['verdict']} |"
        for r in _read("matrix.json")["rows"]
    ]
    return "\n".join(["| Python | Keras | backend | verdict |", "|---|---|---|---|", *rows])


def _ratio(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value['ratio'] if isinstance(value, dict) else value:.2f}×"


def _read(name: str) -> Any:
    return json.loads((RESULTS / name).read_text(encoding="utf-8"))
