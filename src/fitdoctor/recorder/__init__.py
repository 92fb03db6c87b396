"""SCRIPT -> RECORDING; only `launch`, `sampler`, `cgroup` and `files` run in the parent."""
