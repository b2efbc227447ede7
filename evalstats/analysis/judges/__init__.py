"""Can a judge stand in for people, and what are its scores worth once people have labelled a part?"""
