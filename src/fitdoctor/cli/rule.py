"""`fitdoctor rule`: what a finding means, and what to do about it."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from typing import Any

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.completion import rule_codes
from fitdoctor.cli.output import Color, terminal_width, use_color, write
from fitdoctor.contract.errors import UsageError

_MARKS = {"safe": "[*]", "unsafe": "[!]", "advice": "   "}


@click.command("rule", short_help="Explain a rule, or list them all.")
@click.argument("code", required=False, shell_complete=rule_codes)
@click.option("--all", "show_all", is_flag=True, help="List all rules.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, to stdout.")
@shared.color
def command(*, code: str | None, show_all: bool, as_json: bool, color: Color) -> None:
    """Explain the rule with this CODE (IN002) or name (serial-reads)."""
    if show_all == (code is not None):
        raise UsageError(
            "received both a rule and --all" if show_all else "received no rule",
            expected="the code of one rule, or --all",
            advice="fitdoctor rule --all",
        )
    from fitdoctor.rules import all_rules

    rules = sorted(all_rules(), key=lambda rule: str(rule.code))
    if code is None:
        text = _json([_as_data(rule) for rule in rules]) if as_json else _list(rules)
        write(sys.stdout, text)
        return
    rule = _find(rules, code)
    if as_json:
        write(sys.stdout, _json(_as_data(rule)))
    else:
        _show_page(rule, color)


def _find(rules: list[Any], wanted: str) -> Any:
    known = {str(rule.code).lower(): rule for rule in rules}
    known |= {str(rule.name).lower(): rule for rule in rules}
    if wanted.lower() in known:
        return known[wanted.lower()]
    close = get_close_matches(wanted.lower(), known, n=3, cutoff=0.5)
    codes = list(dict.fromkeys(str(known[name].code) for name in close))
    raise UsageError(
        f"there is no rule {wanted!r}",
        expected=f"close to it: {', '.join(codes)}" if codes else "the code or name of a rule",
        advice=f"fitdoctor rule {codes[0]}" if codes else "fitdoctor rule --all",
    )


def _as_data(rule: Any) -> dict[str, str]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "safety": rule.safety,
        "page": _page(rule),
    }


def _page(rule: Any) -> str:
    """The rule's own page, and what can be seen of it without running."""
    from fitdoctor.lint.lint_page import section

    seen = section(str(rule.code))
    page = str(rule.page).strip()
    return f"{page}\n\n{seen}".strip() + "\n"


def _json(data: Any) -> str:
    return json.dumps(data, indent=2) + "\n"


def _list(rules: list[Any]) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    return "".join(
        f"{rule.code} {_MARKS[rule.safety]} {rule.name:<{width}}  {rule.summary}\n"
        for rule in rules
    )


def _show_page(rule: Any, color: Color) -> None:
    page = _page(rule)
    if not (sys.stdout.isatty() or color == "always"):
        write(sys.stdout, page)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    colored = use_color(color, sys.stdout)
    console = Console(
        file=sys.stdout,
        width=min(terminal_width(sys.stdout), 100),
        color_system="standard" if colored else None,
        force_terminal=colored,
        _environ={},
    )
    console.print(Markdown(page))
