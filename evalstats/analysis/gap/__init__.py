"""Does the lab predict the live world? `gap()` and its parts."""
