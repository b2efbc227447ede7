"""All that a store can answer, each question with its defaults, as one document."""
