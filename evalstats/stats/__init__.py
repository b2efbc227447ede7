"""Statistics on arrays: numbers in, small frozen results out. Nothing here knows a column name or a table."""
