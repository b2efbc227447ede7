"""Would other items, scaffolds or judges give the same order?"""
