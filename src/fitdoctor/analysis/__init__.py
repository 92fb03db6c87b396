"""RECORDING -> WHERE THE TIME GOES: pure functions over recorded data."""
