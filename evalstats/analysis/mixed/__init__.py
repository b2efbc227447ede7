"""Mixed models on tables: lme4's notation, what a model is fitted to, and the result `mixed()` gives."""
