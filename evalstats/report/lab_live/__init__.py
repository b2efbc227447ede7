"""Parts of the page "Does the lab predict the live world?"."""
