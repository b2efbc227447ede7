"""Whether the score of any model has changed from run to run, in results that are watched over time."""
