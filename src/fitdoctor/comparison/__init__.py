"""Two recordings or reports side by side, and limits that a change must keep."""
