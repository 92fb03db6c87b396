"""What experiments share: windows, clocks, stack samples, memory."""
