"""Thresholds that both processes use, each decided once."""

from __future__ import annotations

NS_PER_S = 1_000_000_000

# Cores that other processes may take before a window counts as disturbed. One busy neighbour
# takes a whole core; our own parent and the system take 1-3 %.
OTHERS_LIMIT_CORES = 0.10
# Record files with fewer records than this are mostly opened, not read.
FEW_RECORDS = 20
# Reads that wait share the cores: several per core, but a server is not to be flooded.
THREADS_PER_CORE = 2
MOST_THREADS = 16
# Reads of a tf.data pipeline at a time: its threads are cheap, more rarely help.
TF_DATA_READS = 16
# Data that is kept may take this share of the free memory.
MEMORY_SHARE = 0.5
# A training step takes about this many forward passes.
FORWARD_PASSES_PER_STEP = 3.0
# Many calls of a few steps each from one line are a group: the unit is the call.
GROUP_CALLS = 8
GROUP_STEPS_PER_CALL = 4
# An embedding with fewer weights than this is updated in no time.
LARGE_TABLE_WEIGHTS = 1_000_000
# Batches with more real positions than this share have too little padding to matter.
FULL_BATCH_SHARE = 0.7
# Layers that work step by step along a sequence, in many small operations.
RECURRENT = frozenset(
    {
        *("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional"),
        *("ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"),
        *("LSTMCell", "GRUCell", "SimpleRNNCell", "StackedRNNCells"),
    }
)
# A layer that is called this often in one step may be called once instead.
MANY_CALLS = 4
