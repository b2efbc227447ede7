"""Do models score more on items they may have seen than on items they cannot have seen?"""
