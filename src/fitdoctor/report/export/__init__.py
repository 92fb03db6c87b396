"""The recording in formats that other tools read."""
