"""What can be seen in the source without running it: only patterns that harm today's versions."""
