"""Reports: what the .qmd pages call, and the two engines that render them."""
