"""evalstats."""
