"""Can two sides be compared? What their runs record of how they were made, and how far whole runs vary."""
