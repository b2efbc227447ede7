"""Is B better than A? Two systems on the same items."""
