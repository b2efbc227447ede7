"""What only maintainers run: measures of the code, of its tests and of our own error rates, the website, the lock files."""
