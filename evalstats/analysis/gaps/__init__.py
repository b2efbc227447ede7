"""What is said of lab against live."""
