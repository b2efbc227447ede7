"""Result files in, rows of the tidy tables out: one format a module, found through the registry."""
