"""What people import: diagnose, speedup, Watch, the cell magic, from_generator, read_ahead."""
