"""`fitdoctor rule`: what a finding means, and what to do about it."""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from typing import TYPE_CHECKING

import click

from fitdoctor.cli import options as shared
from fitdoctor.cli.output import Color, terminal_width, use_color, write
from fitdoctor.contract.errors import UsageError

if TYPE_CHECKING:
    from fitdoctor.rules.rule import Rule

_MARKS = {"safe": "[*]", "unsafe": "[!]", "advice": "   "}


@click.command("rule", short_help="Explain a rule, or list them all.")
@click.argument("code", required=False, shell_complete=shared.rule_codes)
@click.option("--all", "show_all", is_flag=True, help="List all rules.")
@shared.json_only
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

    rules = sorted(all_rules(), key=lambda rule: rule.code)
    found = [_find(rules, code)] if code is not None else rules
    if as_json:
        data = [_as_data(rule) for rule in found]
        write(sys.stdout, json.dumps(data if code is None else data[0], indent=2) + "\n")
    elif code is None:
        write(sys.stdout, _list(rules))
    else:
        _show_page(found[0], color)


def _find(rules: list[Rule], wanted: str) -> Rule:
    known = {name.lower(): rule for rule in rules for name in (rule.code, rule.name)}
    if wanted.lower() in known:
        return known[wanted.lower()]
    close = get_close_matches(wanted.lower(), known, n=3, cutoff=0.5)
    codes = list(dict.fromkeys(known[name].code for name in close))
    raise UsageError(
        f"there is no rule {wanted!r}",
        expected=f"close to it: {', '.join(codes)}" if codes else "the code or name of a rule",
        advice=f"fitdoctor rule {codes[0]}" if codes else "fitdoctor rule --all",
    )


def _as_data(rule: Rule) -> dict[str, str]:
    fields = ("code", "name", "summary", "safety")
    return {name: getattr(rule, name) for name in fields} | {"page": _page(rule)}


def _page(rule: Rule) -> str:
    """The rule's own page, and what can be seen of it without running."""
    from fitdoctor.lint.lint_page import section

    return f"{rule.page.strip()}\n\n{section(rule.code)}".strip() + "\n"


def _list(rules: list[Rule]) -> str:
    width = max((len(rule.name) for rule in rules), default=0)
    return "".join(
        f"{rule.code} {_MARKS[rule.safety]} {rule.name:<{width}}  {rule.summary}\n"
        for rule in rules
    )


def _show_page(rule: Rule, color: Color) -> None:
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
