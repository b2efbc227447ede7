"""Differences of live and lab: on one scale, by scenario, and the drop from ideal to non-ideal users."""
