"""Is B better than A, by each of several metrics?"""
