"""Known truths written in real formats: for demonstrations, for power, for validation."""
