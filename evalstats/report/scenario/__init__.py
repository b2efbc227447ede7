"""Parts of the page "Where do models break?"."""
