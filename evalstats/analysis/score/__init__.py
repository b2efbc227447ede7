"""One system's score on its own, and against a published number."""
