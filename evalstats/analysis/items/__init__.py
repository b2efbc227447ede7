"""Which items tell models apart, and which few would tell a score as well as all."""
