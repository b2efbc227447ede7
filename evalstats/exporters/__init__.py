"""Tidy tables out: `export.export` writes them for other programs; `evalstats.loaders` reads them back."""
