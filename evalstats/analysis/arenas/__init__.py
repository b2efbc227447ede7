"""What is still said of an arena in the old way."""
