"""Parts of the page "Whom do users prefer?"."""
