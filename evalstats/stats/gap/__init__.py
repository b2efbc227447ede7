"""Lab versus live, on arrays: agreement, the calibrated gap, decomposition, forecasts."""
