"""Before against after: interleaved runs, an interval, and whether both learn the same."""
