"""`fitdoctor attach` as text: the verdict, where host time goes, the machine, what is next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fitdoctor.attach.attached import Attached, run_command
from fitdoctor.attach.host_time import HostLine, HostTime, Shares
from fitdoctor.attach.machine_watch import DeviceUse, MachineUse
from fitdoctor.attach.stacks import Frame
from fitdoctor.report.step_time import bar
from fitdoctor.report.text import clean, place
from fitdoctor.units import duration, percent, size

# Smaller shares are within the noise of some hundred samples.
SMALLEST = 0.02
MOST_LINES = 6
# A share that is worth the verdict.
MOST_OF_IT = 0.5
NS_PER_S = 1e9


def attached_text(attached: Attached) -> str:
    """All that `fitdoctor attach` shows."""
    lines = [_headline(attached), "", f"  {verdict(attached.host, attached.cwd)}", ""]
    if attached.host.shares is not None:
        lines += [*_shares(attached.host.shares), ""]
    on_main = [one for one in attached.host.lines if one.on_main]
    others = [one for one in attached.host.lines if not one.on_main and one.running >= SMALLEST]
    lines += _lines("Your lines on the main thread", on_main, attached.cwd)
    lines += _lines("Your lines on other threads and in child processes", others, attached.cwd)
    lines += [*_machine(attached.machine), "", *_next(attached)]
    return "\n".join(lines) + "\n"


def _headline(attached: Attached) -> str:
    words = clean(" ".join(attached.command)) or "command not known"
    name = words if len(words) <= 48 else words[:47] + "…"
    watched = f"{attached.host.samples} samples in {attached.seconds:.0f} s"
    return f"fitdoctor · process {attached.pid} · {name} · {watched}"


def verdict(host: HostTime, cwd: str | None) -> str:
    """One sentence."""
    shares = host.shares
    if shares is None:
        return "No Python stack was seen in the main thread."
    top = next((one for one in host.lines if one.on_main), None)
    if shares.own >= MOST_OF_IT:
        at = "" if top is None else f", most at {place(top.file, top.line, cwd=cwd)}"
        return f"Your own Python takes {percent(shares.own)} of the main thread's time{at}."
    if shares.waiting >= MOST_OF_IT:
        at = "" if host.waits_at is None else f", most {_waiting_at(host.waits_at, cwd)}"
        return f"The main thread waits {percent(shares.waiting)} of its time{at}."
    if shares.native >= MOST_OF_IT:
        at = "" if host.waits_at is None else f", most {_waiting_at(host.waits_at, cwd)}"
        return f"Native code takes {percent(shares.native)} of the main thread's time{at}."
    if shares.framework >= MOST_OF_IT:
        return f"Python code of libraries takes {percent(shares.framework)} of the main thread."
    return "No single thing takes most of the main thread's time."


def _waiting_at(frame: Frame, cwd: str | None) -> str:
    at = place(frame.file, frame.line, cwd=cwd)
    if frame.library is None:
        return f"at {at}"
    short = at.rpartition("site-packages/")[2]
    return f"in {clean(frame.library)} ({short})"


def _shares(shares: Shares) -> Iterator[str]:
    yield "  The main thread"
    rows = (
        ("your Python", shares.own),
        ("Python code of libraries", shares.framework),
        ("native code (numpy, compiled steps)", shares.native),
        ("waiting (data, locks, other threads)", shares.waiting),
    )
    for name, share in rows:
        yield f"    {name:<38} {percent(share):>5}  {bar(share)}".rstrip()


def _lines(title: str, lines: Sequence[HostLine], cwd: str | None) -> Iterator[str]:
    shown = [one for one in lines if one.share >= SMALLEST][:MOST_LINES]
    if not shown:
        return
    yield f"  {title}"
    yield f"    {'':<42} {'runs':>5}   waits or native code"
    for one in shown:
        at = f"{place(one.file, one.line, cwd=cwd)} {clean(one.function)}"
        name = at if len(at) <= 42 else "…" + at[-41:]
        inside = f"  in {clean(one.inside)}" if one.inside is not None else ""
        yield f"    {name:<42} {percent(one.running):>5}   {percent(one.waiting):>5}{inside}"
    yield ""


def _machine(machine: MachineUse) -> Iterator[str]:
    if machine.cores_used is not None:
        children = f", {machine.children} child processes included" if machine.children else ""
        yield f"  CPU: {machine.cores_used:.1f} of {machine.cores or '?'} cores{children}"
    for number, device in enumerate(machine.devices):
        yield f"  GPU {number}: {_device(device)}"
    if machine.memory_bytes is not None:
        yield f"  memory: {size(machine.memory_bytes)}, {_growth(machine)}"


def _device(device: DeviceUse) -> str:
    load = "load not known" if device.util is None else f"{percent(device.util)} busy"
    if device.memory_used is None or device.memory_bytes is None:
        return load
    return f"{load}, {size(device.memory_used)} of {size(device.memory_bytes)} used"


def _growth(machine: MachineUse) -> str:
    growth = machine.growth_per_s
    if growth is None:
        return "no growth seen"
    left = duration(machine.memory_available / growth.value * NS_PER_S)
    return (
        f"grows by {size(growth.value)} per second ({size(growth.low)}–{size(growth.high)}); "
        f"at this pace the machine is full in {left}"
    )


def _next(attached: Attached) -> Iterator[str]:
    yield "  From outside, steps cannot be seen. A run adds: time per step, wait for data, time by"
    yield "  layer, the causes that rules know, and what each cure gains."
    yield f"  next:  {clean(run_command(attached.command) or 'fitdoctor run SCRIPT')}"
