# Make mixed_binomial.json: binomial mixed models fitted by lme4, with the data they were fitted to.
#
# Run as `Rscript make_mixed_binomial.R` in this folder (lme4 1.1-31, R 4.2.2). tolPwrss is 1e-12: at lme4's default its
# likelihood comes out up to 0.004 low and its standard errors up to 1% off. Standard errors of Laplace and quadrature fits are
# from the Hessian of lme4's own deviance function in (theta, beta), as vcov(fit, use.hessian = TRUE) has them, but by differences
# over 0.01: single values are up to 5e-6 off, which over lme4's 1e-4 is noise of 0.3%; modes and variances are ranef(fit, condVar = TRUE).
suppressPackageStartupMessages({library(lme4); library(jsonlite)})

control <- function() glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(rhobeg = 0.2, rhoend = 1e-8, maxfun = 2e5),
                                   check.conv.singular = "ignore", check.conv.grad = "ignore", check.conv.hess = "ignore")

described <- function(fit) {
  list(deviance = -2 * as.numeric(logLik(fit)), theta = unname(getME(fit, "theta")), terms = names(getME(fit, "theta")),
       beta = unname(fixef(fit)), names = names(fixef(fit)), se = unname(sqrt(diag(as.matrix(vcov(fit))))))
}

hessian_se <- function(fit, formula, data, points = 1) {
  deviance <- glmer(formula, data, binomial, nAGQ = points, devFunOnly = TRUE, control = control())
  at <- c(getME(fit, "theta"), fixef(fit)); k <- length(at); h <- 1e-2; e <- diag(k) * h
  hessian <- matrix(0, k, k)
  for (i in 1:k) for (j in 1:i) {
    hessian[i, j] <- (deviance(at + e[i, ] + e[j, ]) - deviance(at + e[i, ] - e[j, ]) - deviance(at - e[i, ] + e[j, ]) +
                      deviance(at - e[i, ] - e[j, ])) / (4 * h^2)
    hessian[j, i] <- hessian[i, j]
  }
  beta <- (length(getME(fit, "theta")) + 1):k
  unname(sqrt(diag(2 * solve(hessian)))[beta])
}

case <- function(formula, data, quadrature = NULL, modes = TRUE) {
  fit <- glmer(formula, data, binomial, control = control())
  again <- update(fit, start = list(theta = getME(fit, "theta"), fixef = fixef(fit)))
  if (logLik(again) > logLik(fit)) fit <- again
  fast <- glmer(formula, data, binomial, nAGQ = 0, control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12,
                optCtrl = list(rhoend = 1e-8), check.conv.singular = "ignore"))
  out <- list(formula = paste(deparse(formula, width.cutoff = 500), collapse = ""), data = as.list(data),
              laplace = described(fit), fast = described(fast))
  out$laplace$se <- hessian_se(fit, formula, data)
  if (!is.null(quadrature)) {
    agq <- glmer(formula, data, binomial, nAGQ = quadrature, control = control())
    # Its logLik leaves out what does not depend on the parameters, so the deviance is not comparable.
    out$quadrature <- c(list(points = quadrature), described(agq)[c("theta", "beta")], list(se = hessian_se(agq, formula, data, quadrature)))
  }
  if (modes) {
    effects <- ranef(fit, condVar = TRUE)
    out$modes <- lapply(effects, function(e) list(level = rownames(e), mode = unname(as.matrix(e)),
                                                  variance = lapply(seq_len(nrow(e)), function(i) as.matrix(attr(e, "postVar")[, , i]))))
  }
  out
}

binomial_draw <- function(eta, n) rbinom(length(eta), n, plogis(eta))

set.seed(20240611)
d <- expand.grid(model = 1:4, item = 1:60)
d$scenario <- (d$item - 1) %/% 20 + 1
d$n <- 3
eta <- c(-.4, .2, .6, 1.1)[d$model] + c(0, -.8, .7)[d$scenario] + .7 * (d$model == 2 & d$scenario == 3) +
  rnorm(60, sd = 1)[d$item] + rnorm(240, sd = .8)
d$y <- binomial_draw(eta, d$n)
crossed_trials <- d[, c("item", "model", "scenario", "y", "n")]

d <- expand.grid(model = 1:12, item = 1:80)
d <- d[sample(nrow(d), 600), ]
d$scenario <- (d$item - 1) %% 4 + 1
d$n <- 1
eta <- .3 + c(0, .5, -.5, 1)[d$scenario] + rnorm(80, sd = 1.2)[d$item] + rnorm(12, sd = .6)[d$model] +
  matrix(rnorm(48, sd = .5), 12)[cbind(d$model, d$scenario)]
d$y <- binomial_draw(eta, 1)
random_models <- d[, c("item", "model", "scenario", "y", "n")]

d <- data.frame(user = rep(1:40, each = 8), x = round(rnorm(320), 2), n = sample(1:6, 320, TRUE))
b <- matrix(rnorm(80), 40) %*% chol(matrix(c(1, .4, .4, .6), 2))
d$y <- binomial_draw(-.3 + .5 * d$x + b[d$user, 1] + b[d$user, 2] * d$x, d$n)
slopes <- d

d <- expand.grid(trial = 1:4, class = 1:5, school = 1:15)
d <- d[sample(nrow(d), 230), ]
d$kind <- sample(1:2, nrow(d), TRUE)
d$n <- 2
d$y <- binomial_draw(.2 + .6 * (d$kind == 2) + rnorm(15, sd = .7)[d$school] + rnorm(75, sd = .6)[5 * (d$school - 1) + d$class], d$n)
nested <- d[, c("school", "class", "kind", "y", "n")]

d <- expand.grid(item = 1:30, batch = 1:8)
d$n <- 2
# Balanced batches whose successes differ less than chance: the variance of batches is estimated as 0.
probability <- plogis(.5 + rnorm(30)[d$item])
d$y <- binomial_draw(qlogis(probability), 2)
repeat {
  d$y <- binomial_draw(qlogis(probability), 2)
  if (var(tapply(d$y, d$batch, mean)) < .005) break
}
singular <- d[, c("item", "batch", "y", "n")]

for_model <- function(d, ...) { for (name in c(...)) d[[name]] <- factor(d[[name]]); d }
out <- list(
  crossed_trials = case(cbind(y, n - y) ~ model * scenario + (1 | item) + (1 | item:model), for_model(crossed_trials, "item", "model", "scenario")),
  random_models = case(cbind(y, n - y) ~ scenario + (1 | item) + (1 | model) + (1 | model:scenario), for_model(random_models, "item", "model", "scenario")),
  slopes = case(cbind(y, n - y) ~ x + (1 + x | user), for_model(slopes, "user")),
  slopes_uncorrelated = case(cbind(y, n - y) ~ x + (1 | user) + (0 + x | user), for_model(slopes, "user"), modes = FALSE),
  nested = case(cbind(y, n - y) ~ kind + (1 | school) + (1 | school:class), for_model(nested, "school", "class", "kind")),
  singular = case(cbind(y, n - y) ~ 1 + (1 | item) + (1 | batch), for_model(singular, "item", "batch")),
  one_effect = case(cbind(y, n - y) ~ kind + (1 | school), for_model(nested, "school", "class", "kind"), quadrature = 15)
)
write(toJSON(list(source = "lme4 1.1-31, R 4.2.2; make_mixed_binomial.R", cases = out), digits = 12, auto_unbox = TRUE, matrix = "rowmajor"), "mixed_binomial.json")
