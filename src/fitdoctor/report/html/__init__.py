"""The report as one HTML file: no network, no build step, nothing of the script executed."""
