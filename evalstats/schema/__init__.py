"""The tidy tables: glossary, checks, and the object that holds them."""
