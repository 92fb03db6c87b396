"""WHAT CROSSES THE BORDER: records, probe results, options, thresholds, reader and writer."""
