"""Would other items, trials, scaffolds or judges give the same order?"""
