"""What a tf.data pipeline could be instead: pure functions of what was measured."""
