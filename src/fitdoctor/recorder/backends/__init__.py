"""The seams of Keras and its backends; every private touch of them lives here or in `inputs`."""
