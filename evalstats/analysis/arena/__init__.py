"""Which models do live users prefer: ratings from votes, their uncertainty, and checks of the votes."""
