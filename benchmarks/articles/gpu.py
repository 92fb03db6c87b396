"""Claims about GPUs: measured on one H200 by other commands, since most machines have none."""

from __future__ import annotations

from benchmarks.articles.claim import Claim

_DEVICES = "python -m benchmarks.devices"
_H200 = "one H200, 16 cores"

CLAIMS = (
    Claim(
        "002-linear",
        "article 002; article 003, example 2; popular advice",
        "A GPU is (not) always faster",
        "depends",
        "on model and batch",
        elsewhere=f"CPU time over GPU time ({_H200}): small MLP, batch 32: 0.34 on JAX, 0.84 on "
        "torch; small CNN, batch 32: 4.0 and 1.06, batch 512: 71 and 6.4",
        command=_DEVICES,
    ),
    Claim(
        "002-transfer",
        "article 002; article 004",
        "Copying batches to the GPU takes a significant part of the time",
        "depends",
        "on bytes against arithmetic",
        elsewhere=f"EN007 named it in a case made for it ({_H200}, torch): 1.6x (1.2–8.7) "
        "predicted without it; in a ResNet that is fed from memory copies are 0.05 ms of 103 ms",
        command="python -m casebook G03_torch --no-gain",
    ),
    Claim(
        "004-1-create",
        "article 004, example 1",
        "Creating a model takes longer on the GPU",
        "depends",
        "on what is counted: the article times only the build, and the start of the device, "
        "loading and the first step are the rest",
        elsewhere=f"`fitdoctor devices` splits the start-up into them; EN003 ({_H200}): the whole "
        "short training is 2.2x faster on the CPU on JAX, 1.4x on torch",
        command="python -m casebook A13 A13_torch --no-gain",
    ),
    Claim(
        "004-2-small",
        "article 004, example 2",
        "1,000 rows in batches of 10 train faster on the CPU",
        "true",
        "a Dense 128-10 gives a GPU nothing to do",
        elsewhere=f"EN003 ({_H200}): the CPU is 3.9x (3.4–4.5) faster on JAX, 1.5x (1.4–1.6) on "
        "torch",
        command="python -m casebook A14 A14_torch --no-gain",
    ),
    Claim(
        "004-3-large",
        "article 004, example 3",
        "With 100,000 rows the GPU wins",
        "false",
        "the batch is still 32, and the number of rows does not change a step",
        elsewhere=f"EN003 ({_H200}): the CPU is 3.1x (2.7–3.6) faster on JAX, 1.5x (1.5–1.5) on "
        "torch",
        command="python -m casebook A15 A15_torch --no-gain",
    ),
    Claim(
        "004-batch",
        "article 004; article 001",
        "GPUs win when the work is large and parallel",
        "true",
        "from some batch size on",
        elsewhere=f"({_H200}, JAX) small CNN: 1.4x at batch 8, 22x at 128, 93x at 2048; small MLP: "
        "still 0.7x at 2048",
        command=_DEVICES,
    ),
    Claim(
        "002-overload",
        "article 002",
        "Too little GPU memory forces transfers to and from RAM, which slows everything down",
        "false",
        "TensorFlow, JAX and torch end with an out-of-memory error instead of swapping; this is "
        "their documented behaviour and was not measured here",
    ),
)
