"""One adapter per framework: state, batches, steps and devices for the experiments."""
