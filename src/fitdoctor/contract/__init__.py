"""WHAT CROSSES THE BORDER between the two processes: records, probe results, options, reader and writer."""
