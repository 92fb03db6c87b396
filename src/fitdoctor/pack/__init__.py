"""Preprocess once, store as shards, read fast: TFRecord or ArrayRecord with a manifest.

source ──plan──▶ ranges ──engine──▶ shards, receipts ──▶ manifest ──reading──▶ tf.data, grain, torch
"""
