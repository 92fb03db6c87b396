"""What a cure would leave of a step, and what several would leave together."""
