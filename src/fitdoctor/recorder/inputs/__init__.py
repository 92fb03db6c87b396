"""The kinds of input that Keras takes: timed, located, and asked for a batch."""
