"""What a shell offers after `fitdoctor run ` and `fitdoctor rule `."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem
from click.types import UnprocessedParamType


class FileText(UnprocessedParamType):
    """A text that is taken as it is, and mostly is the name of a file."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Leave it to the shell, which completes names of files."""
        return [CompletionItem(incomplete, type="file")]


def complete_scripts(command: click.Command) -> None:
    """Let a command's script, and what follows it, be completed as files."""
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and parameter.name in ("script", "args"):
            parameter.type = FileText()


def rule_codes(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The rules whose code or name begins so."""
    from fitdoctor.rules import all_rules

    wanted = incomplete.lower()
    return [
        CompletionItem(rule.code, help=rule.name)
        for rule in all_rules()
        if rule.code.lower().startswith(wanted) or (wanted and rule.name.startswith(wanted))
    ]
