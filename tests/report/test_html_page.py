"""The page: silent about nothing, harmless with anything, complete in itself."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import browser
import pytest
from diagnoses import bare_diagnosis, diagnosis, slow_workload
from hostile import hostile_recording

from fitdoctor.diagnosis import diagnose
from fitdoctor.recording.reader import read_recording
from fitdoctor.recording.schema import Event, Recording
from fitdoctor.report.html.page import render
from fitdoctor.report.proof_file import Proof
from fitdoctor.report.terminal import render as render_terminal
from synthetic import MS, fit_workload, recording, slow_pipeline, stage, windows

MOST_BYTES = 1_000_000


class Elements(HTMLParser):
    """Every element with its attributes, and the visible text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.blocks: dict[str, str] = {}
        self._open = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id") or tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        if self._open:
            self.blocks[self._open] = self.blocks.get(self._open, "") + data
        else:
            self.text += data


def page_of(made: Recording) -> tuple[str, Elements]:
    page = render(diagnose(made), made)
    return page, Elements(page)


def input_bound() -> Recording:
    return recording(
        slow_pipeline(
            stage("batch", 0, batch_size=32),
            stage("map", 1, python=True, parallel=8),
            stage("range", 2, inputs=[]),
            rows=[
                {"n": 0, "per_batch": 1.0, "ns": 30.0 * MS, "own_ns": 0.0, "own_cpu_ns": 0.0},
                {"n": 1, "per_batch": 32.0, "ns": 30.0 * MS, "own_ns": 29.0 * MS},
                {"n": 2, "per_batch": 32.0, "ns": 1.0 * MS, "own_ns": 1.0 * MS},
            ],
        )
    )


@pytest.mark.parametrize("renames", [False, True])
def test_hostile_texts_stay_texts_on_the_page(tmp_path: Path, renames: bool) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=renames))
    assert not made.broken_lines  # otherwise little of it would reach the page
    page, elements = page_of(made)
    assert "onerror" in elements.text  # it was there to be escaped
    tags = {tag for tag, _ in elements.found}
    assert "img" not in tags and "b" not in tags
    assert sum(tag == "script" for tag, _ in elements.found) == 3
    assert not any(name.startswith("on") for _, attrs in elements.found for name in attrs)
    for character in "\x00\x07\x1b\u202e\u2066\u2028\u2029":
        assert character not in page
    data = elements.blocks["data"]
    assert not set(data) & set("<>&")
    json.loads(data)


@pytest.mark.parametrize("renames", [False, True])
def test_hostile_texts_cannot_steer_the_terminal(tmp_path: Path, renames: bool) -> None:
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=renames))
    screen = render_terminal(diagnose(made), verbose=True)
    assert "onerror" in screen
    for character in "\x00\x07\x1b\r\u202e\u2066\u2028\u2029":
        assert character not in screen


def test_the_page_asks_for_nothing() -> None:
    page, elements = page_of(input_bound())
    for tag, attrs in elements.found:
        assert tag not in ("link", "iframe", "object", "embed")
        assert "src" not in attrs
        assert (attrs.get("href") or "#").startswith("#")
    assert "@import" not in page and "url(" not in page
    policy = next(a["content"] for t, a in elements.found if t == "meta" and "http-equiv" in a)
    assert policy is not None and policy.startswith("default-src 'none'")


def test_nothing_measured_is_said_and_not_zero() -> None:
    empty = recording()
    page = render(bare_diagnosis(), empty)
    text = " ".join(Elements(page).text.split())
    assert "was not measured: no steady state" in text
    assert "Cost of recordingnot measured" in text
    assert "were not sampled" not in text  # there is no plot for it to stand beside
    assert "No Keras training was seen" in " ".join(
        Elements(render(diagnose(empty), empty)).text.split()
    )


def test_a_healthy_training_has_no_finding() -> None:
    made = recording(fit_workload(probes={"frozen_batch": windows(9.9 * MS)}))
    _, elements = page_of(made)
    assert "Nothing that was measured would make this faster" in " ".join(elements.text.split())
    assert not any("finding" in (a.get("class") or "") for _, a in elements.found)


def test_the_narrowest_stage_is_marked_once() -> None:
    _, elements = page_of(input_bound())
    classes = [(a.get("class") or "").split() for t, a in elements.found if t == "li"]
    stages = [names for names in classes if "stage" in names]
    assert ["narrowest" in names for names in stages] == [False, True, False, False]


def test_findings_show_gain_cure_and_proof() -> None:
    found = diagnosis(slow_workload())
    proof = Proof("proven", None, None, 6, "identical", "bitwise", "")
    text = " ".join(Elements(render(found, recording(), proof=proof)).text.split())
    for finding in found.workloads[0].findings:
        assert finding.rule in text and finding.cure.summary in text
    assert "2.4× (1.90–2.6)" in text and "All of these together: 2.6×" in text
    assert "reads per step12" in text and "disknot measured" in text
    assert "Proven" in text and "Same data: identical" in text


def test_a_long_training_is_thinned_and_says_so() -> None:
    marks = tuple(
        Event("validation", 10**9 + i * 10 * MS, MS, 0, i, {}) for i in range(0, 100_000, 100)
    )
    made = recording(
        fit_workload(steps=100_000, probes={"frozen_batch": windows(9 * MS)}, events=marks)
    )
    page, elements = page_of(made)
    assert len(page.encode()) < MOST_BYTES
    chart = json.loads(elements.blocks["data"])["steps"][0]
    assert len(chart["x"]) <= 1500 and len(chart["low"]) == len(chart["x"])
    text = " ".join(elements.text.split())
    assert "100,000 steps are drawn as" in text
    assert "1,000 marks of kind validation" in text


def test_scripts_match_the_policy() -> None:
    page, _ = page_of(input_bound())
    hashes = re.findall(r"&#39;sha256-([^&]+)&#39;", page)
    assert len(hashes) == 2  # the plots' library and our own script, and nothing else may run


@pytest.mark.skipif(browser.CHROMIUM is None, reason="chromium is not installed")
@pytest.mark.parametrize("width", [1280, 390])
def test_in_a_browser(tmp_path: Path, width: int) -> None:
    pytest.importorskip("websocket")
    made = read_recording(hostile_recording(tmp_path / "a.rec", renames=False))
    page = tmp_path / "report.html"
    page.write_text(render(diagnose(made), made), encoding="utf-8")
    seen = browser.look_at(
        page,
        tmp_path,
        width=width,
        questions={
            "broken": "typeof window.broken",
            "plots": "document.documentElement.dataset.plots",
            "canvases": "[...document.querySelectorAll('.plot canvas')]"
            ".filter(c => c.getContext('2d').getImageData(0, 0, c.width, c.height)"
            ".data.some(v => v)).length",
            "width": "document.documentElement.scrollWidth",
        },
    )
    assert seen.errors == []
    assert seen.requests == [page.resolve().as_uri()]
    assert seen.answers["broken"] == "undefined"
    assert seen.answers["plots"] == "5" and seen.answers["canvases"] == 5
    assert seen.answers["width"] <= width
