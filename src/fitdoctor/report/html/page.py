"""The whole page: one file that opens from disk, without a network and without a script's strings
being anything but text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from fitdoctor.analysis.start_up import StartUp
from fitdoctor.contract.records import KerasFacts, Recording
from fitdoctor.findings.diagnosed import Diagnosis
from fitdoctor.report.html.proof_picture import proof_picture
from fitdoctor.report.html.resources_chart import resources_charts
from fitdoctor.report.html.steps_chart import steps_chart
from fitdoctor.report.html.thinning import ALL_POINTS, MOST_POINTS
from fitdoctor.report.html.workload_section import WorkloadSection, workload_section
from fitdoctor.report.machine import with_leaves
from fitdoctor.report.proof_file import VERDICTS, Proof
from fitdoctor.report.step_time import PART_WORDS, time_text
from fitdoctor.report.terminal import HEALTH_WORDS, ending_sentence
from fitdoctor.report.text import clean, without_controls
from fitdoctor.units import duration, gain, percent, size

_FOLDER = Path(__file__).parent
# A plot takes some ten kilobytes; more workloads than this are listed without one.
MOST_PLOTS = 8
MARK_WORDS = {
    "epoch": "epoch",
    "compile": "trace or compile",
    "validation": "validation",
    "stall": "stall",
    "probing": "fitdoctor experiments",
}


def render(
    diagnosis: Diagnosis,
    recording: Recording,
    *,
    proof: Proof | None = None,
    cwd: str | None = None,
) -> str:
    """The page as text.

    Args:
        diagnosis: What was found.
        recording: What it was found in: the plots need every step.
        proof: The result of `fitdoctor prove`, where there is one.
        cwd: The folder that places are shown relative to; the current one if not given.
    """
    ordered = sorted(diagnosis.workloads, key=lambda workload: -workload.total_ns)
    sections = [workload_section(workload, diagnosis, recording, cwd) for workload in ordered]
    plots = _plots(sections, recording)
    script = _read("page.js")
    library = _read("vendor/uPlot.iife.min.js")
    template = _environment().get_template("page.html.j2")
    return template.render(
        diagnosis=diagnosis,
        sections=sections,
        proof=proof,
        proof_picture=proof_picture(proof) if proof else None,
        proof_word=VERDICTS[proof.verdict] if proof else "",
        ending=ending_sentence(diagnosis),
        facts=_facts(diagnosis),
        part_words=PART_WORDS,
        health_words={level: word for level, (word, _) in HEALTH_WORDS.items()},
        plots=plots,
        data=_json_block({"steps": plots["steps"], "resources": plots["resources"]}),
        styles=Markup(_read("vendor/uPlot.min.css") + _read("page.css")),
        library=Markup(library),
        script=Markup(script),
        policy=_policy(library, script),
    )


def _plots(sections: list[WorkloadSection], recording: Recording) -> dict[str, Any]:
    times = [*(one.t for one in recording.samples[:1]), *(one.t for one in recording.workloads)]
    t0 = min(times, default=0)
    steps: list[dict[str, Any]] = []
    notes: dict[int, tuple[str, ...]] = {}
    kinds: dict[int, list[tuple[str, str]]] = {}
    most = min(MOST_POINTS, ALL_POINTS // max(1, len(sections[:MOST_PLOTS])))
    for index, section in enumerate(sections[:MOST_PLOTS]):
        recorded = section.recorded
        chart = steps_chart(recorded, t0, most) if recorded is not None else None
        if chart is not None:
            steps.append({"id": f"steps-{index}", **chart.data})
            notes[index] = chart.notes
            seen = {mark["kind"] for mark in chart.data["marks"]}
            seen |= {"probing"} if chart.data["spans"] else set()
            kinds[index] = [(kind, word) for kind, word in MARK_WORDS.items() if kind in seen]
    return {
        "steps": steps,
        "resources": resources_charts(recording, t0),
        "notes": notes,
        "kinds": kinds,
        "most": MOST_PLOTS,
    }


def _facts(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """What the numbers hold for, in pairs of a word and a value."""
    machine, keras = diagnosis.machine, diagnosis.keras
    facts = [("Script", " ".join([diagnosis.script, *diagnosis.argv]))]
    if keras != KerasFacts():
        version = f"{keras.version or 'unknown'} on {keras.backend or 'unknown'}"
        facts.append(("Keras", f"{version} {keras.backend_version or ''}".strip()))
    cores, of = machine.affinity or machine.cpus, machine.cpus
    if cores:
        facts.append(("Cores", f"{cores} of {of}" if of and of != cores else str(cores)))
    if machine.memory_bytes:
        facts.append(("Memory", size(machine.memory_bytes)))
    names = [each.name or "unnamed" for each in machine.accelerators]
    facts.append(("Accelerators", ", ".join(names) or "none seen"))
    if diagnosis.start_up is not None:
        facts.append(("Start-up", _start_up(diagnosis.start_up)))
    if machine.python:
        facts.append(("Python", machine.python))
    ratio = diagnosis.recorder_ratio
    facts.append(("Cost of recording", "not measured" if ratio is None else percent(ratio)))
    facts.append(("Recording", diagnosis.recording or "not known"))
    facts.append(("fitdoctor", diagnosis.version or "not known"))
    return facts


def _start_up(start: StartUp) -> str:
    parts = {
        "imports": start.imports,
        "the script's own work": start.script,
        "start of fit": start.fit,
        "first step": start.first_step,
    }
    named = ", ".join(f"{word} {duration(ns)}" for word, ns in parts.items())
    return f"{duration(start.total)} before the second step ({named})"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        finalize=_finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(duration=duration, gain=gain, percent=percent, time=time_text)
    return environment


def _finalize(value: Any) -> Any:
    """Every text that reaches the page loses control characters and changes of direction."""
    is_text = isinstance(value, str) and not isinstance(value, Markup)
    return without_controls(value) if is_text else value


def _json_block(data: Any) -> Markup:
    """Data for the plots; nothing in it can end the script element or a line of JavaScript."""
    cleaned = with_leaves(data, lambda leaf: clean(leaf) if isinstance(leaf, str) else leaf)
    text = json.dumps(cleaned, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _policy(*scripts: str) -> str:
    """Only our own two scripts may run, and nothing may be fetched."""
    hashes = " ".join(
        "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"
        for text in scripts
    )
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; base-uri 'none'"


@cache
def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
