"""Where the time goes, always on: steps, calls, loops, callbacks, call sites."""
