"""SCRIPT -> RECORDING. Everything but `launch`, `sampler` and `files` runs in the user's process."""
