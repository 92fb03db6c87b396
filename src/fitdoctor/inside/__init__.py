"""RUNS IN THE USER'S PROCESS: standard library only, cheap, restores what it patched."""
