"""From a series to windows of 48 hours and the hour after each."""

import tensorflow as tf


def split(window):
    return window[:-1], window[-1:]


def make_windows(series):
    windows = tf.data.Dataset.from_tensor_slices(series).window(49, shift=1, drop_remainder=True)
    windows = windows.flat_map(lambda window: window.batch(49))
    return windows.map(split).batch(64).cache()
