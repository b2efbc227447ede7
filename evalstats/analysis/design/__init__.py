"""What can be asked of any table of scores: functions that return facts, and no sentences."""
