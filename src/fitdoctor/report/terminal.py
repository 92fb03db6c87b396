"""The one screen: the verdict, what to do first, where a step's time goes, and the rest.

`render` returns text; who prints it, and where, is decided by the command line.
"""

from __future__ import annotations

import io
import signal
from collections.abc import Iterator

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from fitdoctor.contract.codec import encode
from fitdoctor.findings.diagnosed import DiagnosedWorkload, Diagnosis, Health
from fitdoctor.report.findings_table import findings_table
from fitdoctor.report.first_thing import first_thing
from fitdoctor.report.gain_words import gain_words
from fitdoctor.report.over_time import over_time
from fitdoctor.report.plan_lines import plan_lines
from fitdoctor.report.step_time import step_time
from fitdoctor.report.text import clean, place
from fitdoctor.units import duration, gain, percent

DEFAULT_WIDTH = 80
# Longer lines are hard to read, however wide the terminal is.
MAX_WIDTH = 100

HEALTH_WORDS = {
    "info": ("note:", "cyan"),
    "warning": ("warning:", "yellow"),
    "error": ("problem:", "red"),
}

# Phases of a script below this share are not worth a line.
SMALLEST_PHASE = 0.02
MOST_PHASES = 6

LEGEND = {
    "safe": "[*] keeps the training the same",
    "unsafe": "[!] may change it (--unsafe)",
}


def render(
    diagnosis: Diagnosis,
    *,
    width: int = DEFAULT_WIDTH,
    color: bool = False,
    verbose: bool = False,
    cwd: str | None = None,
) -> str:
    """The screen as text.

    Args:
        diagnosis: What was found.
        width: Columns of the terminal.
        color: Whether to colour; the meaning never depends on it.
        verbose: Also show the evidence of each finding and the machine.
        cwd: The folder that places are shown relative to; the current one if not given.
    """
    output = io.StringIO()
    console = Console(
        file=output,
        width=min(width, MAX_WIDTH),
        color_system="standard" if color else None,
        force_terminal=color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        _environ={},  # colour and width were decided by the caller
    )
    for item in _screen(diagnosis, width=console.width, verbose=verbose, cwd=cwd):
        console.print(item)
    return "\n".join(line.rstrip() for line in output.getvalue().split("\n"))


def _screen(
    diagnosis: Diagnosis, *, width: int, verbose: bool, cwd: str | None
) -> Iterator[RenderableType]:
    ordered = sorted(diagnosis.workloads, key=lambda workload: -workload.total_ns)
    shown = [w for index, w in enumerate(ordered) if index == 0 or w.findings]
    others = [w for w in ordered if w not in shown]
    yield _headline(diagnosis)
    for workload in shown:
        yield ""
        if len(ordered) > 1:
            yield Padding(Text(label(workload, cwd), style="underline"), (0, 0, 0, 2))
        yield Padding(Text(clean(workload.sentence), style="bold"), (0, 0, 0, 2))
        yield from _workload(workload, width=width, verbose=verbose, cwd=cwd)
    if others:
        yield ""
        yield Text("  Also seen", style="bold")
        for workload in others:
            start = f"{label(workload, cwd)}, {workload.steps} steps"
            yield Padding(Text(f"{start}: {clean(workload.sentence)}"), (0, 0, 0, 4))
    if len(shown) > 1 and diagnosis.joint_gain is not None:
        joint = (gain(diagnosis.joint_gain), "bold green")
        yield ""
        yield Text.assemble("  All workloads together: ", joint)
    yield from _about_the_run(diagnosis)
    if verbose or diagnosis.ended == "finished":
        yield from _timeline(diagnosis, cwd)
    if verbose:
        yield from _start_up(diagnosis)
        yield from _machine(diagnosis)
    yield ""
    yield _next_commands(shown)


def _headline(diagnosis: Diagnosis) -> Text:
    steps = sum(workload.steps for workload in diagnosis.workloads)
    steady = sum(workload.steady_steps for workload in diagnosis.workloads)
    ratio = diagnosis.recorder_ratio
    own_cost = "not measured" if ratio is None else percent(ratio)
    counts = f"{steps} steps, {steady} steady"
    start = f"fitdoctor · {clean(diagnosis.script)}"
    return Text(f"{start} · {counts} · our own cost {own_cost}", style="dim")


def ending_sentence(diagnosis: Diagnosis) -> str:
    """How the script ended, where that is worth a sentence."""
    code = "" if diagnosis.exit_code is None else f" (exit code {diagnosis.exit_code})"
    sentences = {
        "examined": f"The script was ended after the examination{_not_reached(diagnosis)} "
        "(--continue keeps it running).",
        "crashed": f"Your script failed{code}; what ran until then is reported.",
        "interrupted": "The script was interrupted; what ran until then is reported.",
        "killed": f"The script was killed{_signal_words(diagnosis)}; "
        "what ran until then is reported.",
    }
    return sentences.get(diagnosis.ended, "")


def _not_reached(diagnosis: Diagnosis) -> str:
    """The lines after the one that trains."""
    unseen = diagnosis.unseen
    if unseen.first is None or unseen.last is None:
        return ""
    if unseen.first == unseen.last:
        return f"; line {unseen.first} was not reached"
    return f"; lines {unseen.first}–{unseen.last} were not reached"


def _about_the_run(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    if sentence := ending_sentence(diagnosis):
        yield Padding(Text(sentence), (0, 0, 0, 2))
    yield from _health(diagnosis.health)


def _signal_words(diagnosis: Diagnosis) -> str:
    if diagnosis.exit_signal is None:
        return ""
    try:
        name = signal.Signals(diagnosis.exit_signal).name
    except ValueError:
        name = f"signal {diagnosis.exit_signal}"
    return f" ({name}, often: out of memory)" if name == "SIGKILL" else f" ({name})"


def _health(health: tuple[Health, ...]) -> Iterator[RenderableType]:
    for item in dict.fromkeys(health):
        word, style = HEALTH_WORDS[item.level]
        yield Padding(Text.assemble((f"{word} ", style), clean(item.message)), (0, 0, 0, 2))
        for command in item.command.splitlines():
            yield Padding(Text(clean(command)), (0, 0, 0, 4))


def _workload(
    workload: DiagnosedWorkload, *, width: int, verbose: bool, cwd: str | None
) -> Iterator[RenderableType]:
    if workload.findings:
        yield ""
        yield from first_thing(workload, verbose=verbose, cwd=cwd)
    yield ""
    yield from step_time(workload, label(workload, cwd), verbose=verbose)
    if workload.input:
        yield Padding(Text(f"input: {clean(workload.input)}", style="dim"), (0, 0, 0, 2))
    for line in over_time(workload):
        yield Padding(Text(line, style="dim"), (0, 0, 0, 2))
    yield from plan_lines(workload)
    if len(workload.findings) > 1:
        yield ""
        yield from findings_table(workload, width=width, verbose=verbose, cwd=cwd)
    elif workload.verdict == "at-ceiling":
        yield ""
        yield Padding("No finding: nothing that was measured would make this faster.", (0, 0, 0, 2))
        for option in workload.options:
            words = f"option: {clean(option.cure.summary)}: {gain_words(option)}"
            yield Padding(Text(words, style="dim"), (0, 0, 0, 2))
    yield from _health(workload.health)
    # Where something was found, what could not be measured is for those who ask.
    for reason in workload.not_measured if verbose or not workload.findings else ():
        yield Padding(Text(f"not measured: {clean(reason)}", style="dim"), (0, 0, 0, 2))


def label(workload: DiagnosedWorkload, cwd: str | None) -> str:
    """What and where, as in `fit (train.py:88)`."""
    text = clean(workload.kind) or "training"
    if workload.where is not None:
        text += f" ({place(workload.where.file, workload.where.line, cwd=cwd)})"
    return f"{text}, called {workload.calls} times" if workload.calls > 1 else text


def _timeline(diagnosis: Diagnosis, cwd: str | None) -> Iterator[RenderableType]:
    """Where the script's time went, all of it; of one training alone that says nothing new."""
    phases = [one for one in diagnosis.timeline if one.share >= SMALLEST_PHASE]
    if len(phases) < 2:
        return
    yield ""
    total = sum(one.ns for one in diagnosis.timeline)
    yield Text(f"  The whole script, {duration(total)}", style="bold")
    for one in phases[:MOST_PHASES]:
        at = "" if one.where is None else f" ({place(one.where.file, one.where.line, cwd=cwd)})"
        name = f"{clean(one.what)}{at}"
        yield Padding(Text(f"{percent(one.share):>5}  {duration(one.ns):>9}  {name}"), (0, 0, 0, 4))


def _start_up(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    start = diagnosis.start_up
    if start is None:
        return
    rows = (
        ("imports", start.imports),
        ("the script's own work", start.script),
        ("start of fit", start.fit),
        ("first step (trace, compile)", start.first_step),
    )
    yield ""
    yield Text(f"  Start-up, {duration(start.total)} before the second step", style="bold")
    for name, ns in rows:
        yield Padding(Text(f"{name:<28} {duration(ns):>9}"), (0, 0, 0, 4))


def _machine(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    keras = {f"keras {key}": value for key, value in encode(diagnosis.keras).items()}
    known = keras | encode(diagnosis.machine)
    words = ", ".join(f"{clean(str(key))} {clean(str(value))}" for key, value in known.items())
    yield ""
    yield Padding(Text(f"machine: {words}", style="dim"), (0, 0, 0, 2))
    yield Padding(Text(f"recording: {clean(diagnosis.recording)}", style="dim"), (0, 0, 0, 2))


def _next_commands(shown: list[DiagnosedWorkload]) -> RenderableType:
    findings = [finding for workload in shown for finding in workload.findings]
    marks = {finding.cure.safety for workload in shown for finding in workload.findings[1:]}
    legend = [text for safety, text in LEGEND.items() if safety in marks]
    lines = [Text("  " + "   ".join(legend), style="dim")] if legend else []
    if findings:
        lines.append(Text(f"  why:   fitdoctor rule {clean(findings[0].rule)}"))
    plans = [w.input_plan for w in shown if w.input_plan is not None]
    edited = {f.as_edited.cure.safety for f in (*findings, *plans) if f.as_edited.cure.edits}
    if edited:
        unsafe = "" if "safe" in edited else " --unsafe"
        lines.append(Text(f"  cure:  fitdoctor fix{unsafe} --diff"))
    return Group(*lines, Text("  again: fitdoctor report"))
