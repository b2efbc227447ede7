"""Two models on the same items: differences, effect sizes, margins and ratios."""
