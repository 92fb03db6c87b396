"""step = max(overlapped) + serial: what a cure would leave of a step."""
