"""Linear and binomial mixed models with crossed and nested random effects, and what is inferred from them."""
