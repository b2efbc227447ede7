"""Several raters of the same things: how far they agree, and what a judge's scores become with people's labels beside them."""
