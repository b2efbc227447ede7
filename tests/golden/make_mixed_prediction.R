# Errors of fixed effects and predictions of a linear mixed model, from lme4's own factors.
# Run as `Rscript make_mixed_prediction.R mixed_prediction.json`. R 4.2.2, lme4 1.1-31, jsonlite.
suppressPackageStartupMessages({library(lme4); library(jsonlite); library(Matrix)})
out <- commandArgs(TRUE)[1]
set.seed(3)
d <- data.frame(g = rep(letters[1:12], each = 8), h = sample(LETTERS[1:9], 96, TRUE), x = round(rnorm(96), 1))
d$y <- round(rnorm(12)[match(d$g, letters)] + (1 + 0.8 * rnorm(12)[match(d$g, letters)]) * d$x + rnorm(9)[match(d$h, LETTERS)] + rnorm(96), 3)
m <- lmer(y ~ x + (x | g) + (1 | h), d, control = lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10)))
# Henderson's equations with lme4's Z, Lambda and sigma. lme4 orders terms by their number of levels, here g then h.
stopifnot(identical(names(getME(m, "flist")), c("g", "h")))
X <- getME(m, "X"); Z <- getME(m, "Z"); L <- getME(m, "Lambda"); s <- sigma(m)
G <- s^2 * L %*% t(L)
left <- rbind(cbind(crossprod(X), t(X) %*% Z), cbind(t(Z) %*% X, crossprod(Z) + s^2 * solve(G))) / s^2
errors <- as.matrix(solve(left))
# The conditional variances lme4 gives are these less what the fixed effects leave open.
shown <- attr(ranef(m, condVar = TRUE)$h, "postVar")[1, 1, ]
p <- ncol(X); own <- errors[-(1:p), -(1:p)] - errors[-(1:p), 1:p] %*% solve(errors[1:p, 1:p], errors[1:p, -(1:p)])
stopifnot(max(abs(tail(diag(own), 9) - shown)) < 1e-8, max(abs(errors[1:p, 1:p] - as.matrix(vcov(m)))) < 1e-8)
write_json(list(source = "lme4 1.1-31, REML of y ~ x + (x | g) + (1 | h)", data = as.list(d), errors = unname(errors)),
           out, digits = 10, auto_unbox = TRUE)
