"""The questions: tidy tables in, one result object out; the method is picked here, and the result says why."""
