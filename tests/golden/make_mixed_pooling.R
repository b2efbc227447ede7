# Partial pooling of a balanced table of cell means, as the random interaction of a linear mixed model.
# Run as `Rscript make_mixed_pooling.R mixed_pooling.json`. R 4.2.2, lme4 1.1-31, jsonlite.
suppressPackageStartupMessages({library(lme4); library(jsonlite)})
out <- commandArgs(TRUE)[1]
set.seed(11)
d <- expand.grid(k = 1:6, column = factor(1:4), row = factor(1:5))
true <- matrix(rnorm(20, sd = 0.8), 5, 4) + rnorm(5) + rep(rnorm(4), each = 5)
d$y <- round(true[cbind(as.integer(d$row), as.integer(d$column))] + rnorm(nrow(d)), 4)
m <- lmer(y ~ row + column + (1 | row:column), d, control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10)))
means <- tapply(d$y, list(d$row, d$column), mean)
predicted <- tapply(predict(m), list(d$row, d$column), mean)
write_json(list(replicated = list(
  source = "lme4 1.1-31, REML of y ~ row + column + (1 | row:column), 6 rows a cell",
  cell_means = unname(means), n_rows = 6, sigma = sigma(m),
  interaction_variance = as.data.frame(VarCorr(m))$vcov[1], predicted = unname(predicted)
)), out, digits = 12, auto_unbox = TRUE, pretty = TRUE)
