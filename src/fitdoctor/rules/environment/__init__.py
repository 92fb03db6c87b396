"""Rules about devices, threads and memory."""
