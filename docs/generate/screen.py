"""The screen of a recording as a picture for the README.

python docs/generate/screen.py RECORDING docs/screen.svg --command "fitdoctor run train.py"
"""

from __future__ import annotations

import argparse
import io
from pathlib import Path

from rich.console import Console
from rich.text import Text

from fitdoctor.contract.reader import read_recording
from fitdoctor.diagnosis import diagnose
from fitdoctor.report.terminal import DEFAULT_WIDTH, render

# Rich's own template loads a font from elsewhere; this one takes what the reader's machine has.
TEMPLATE = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" \
xmlns="http://www.w3.org/2000/svg" role="img" aria-label="A screen of fitdoctor">
<style>
.{unique_id}-matrix {{
  font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width;
}}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g>
</g>
</svg>
"""


def picture(text: str, width: int = DEFAULT_WIDTH) -> str:
    """Coloured text of a terminal as SVG."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text))
    return console.export_svg(title="fitdoctor", code_format=TEMPLATE, unique_id="fitdoctor")


def main() -> None:
    """Write the picture of one recording."""
    parser = argparse.ArgumentParser(description="The screen of a recording as SVG.")
    parser.add_argument("recording", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--command", default="fitdoctor run train.py")
    options = parser.parse_args()
    screen = render(diagnose(read_recording(options.recording)), color=True)
    options.picture.write_text(picture(f"$ {options.command}\n{screen}"), encoding="utf-8")


if __name__ == "__main__":
    main()
