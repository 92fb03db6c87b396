"""Rules about tracing and compiling."""
