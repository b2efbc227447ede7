"""The website: what it is made from beyond the guides and notebooks that are written by hand."""
