"""What a proof watches: step limit, batches, weights."""
