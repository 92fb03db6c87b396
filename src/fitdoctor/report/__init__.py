"""Ways to show a diagnosis: a screen for people, JSON for programs."""
