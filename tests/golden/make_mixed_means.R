# Reference values for marginal means, contrasts and variance decomposition: writes mixed_means.json beside itself.
# R 4.2.2, lme4 1.1-31, lmerTest 3.1-3, emmeans 1.8.4-1, mvtnorm 1.1-3. Run from this folder: Rscript make_mixed_means.R
suppressMessages({library(lme4); library(lmerTest); library(emmeans); library(mvtnorm); library(jsonlite)})
emm_options(lmer.df = "satterthwaite", opt.digits = FALSE)
rows_of <- function(m) lapply(seq_len(nrow(m)), function(i) unname(m[i, ]))
table_of <- function(x) { f <- as.data.frame(x); f[] <- lapply(f, function(v) if (is.factor(v)) as.character(v) else v); f }
tests <- function(x, adjust, ...) table_of(summary(x, infer = c(TRUE, TRUE), adjust = adjust, ...))

grid_of <- function(rg) list(
  levels = lapply(rg@levels, as.character), rows = rows_of(unname(rg@linfct)),
  codes = lapply(rg@grid[names(rg@levels)], function(v) match(as.character(v), levels(factor(v, unique(v)))) - 1),
  count = rg@grid$.wgt., nbasis = if (all(is.na(rg@nbasis))) NULL else rows_of(unname(rg@nbasis)))

# Several fixed factors with an interaction, unbalanced, items crossed with models.
set.seed(41)
d <- expand.grid(item = factor(1:18), model = c("A", "B", "C", "D"), scenario = c("ideal", "vague", "rude"), lang = c("en", "de"))
d <- d[sort(sample(nrow(d), 260, prob = ifelse(d$scenario == "rude", 1, 2.5) * ifelse(d$lang == "de", 1, 1.8))), ]
u <- rnorm(18, 0, 0.8)
d$score <- 0.3 * as.integer(d$model) - 0.4 * (d$scenario == "rude") * (d$model == "C") + 0.2 * (d$lang == "de") +
  u[d$item] + rnorm(nrow(d))
fit <- lmer(score ~ model * scenario + lang + (1 | item), d, control = lmerControl(optimizer = "bobyqa"))
rg <- ref_grid(fit)
mix <- c(0.6, 0.1, 0.3)
cells <- emmeans(rg, ~ model * scenario)
by_model <- emmeans(rg, ~ scenario | model)
equal <- emmeans(rg, "model")
linear <- list(
  data = lapply(as.list(d), function(v) if (is.factor(v)) as.character(v) else v), formula = "score ~ model * scenario + lang + (1 | item)",
  beta_names = names(fixef(fit)), beta = unname(fixef(fit)), vcov = rows_of(unname(as.matrix(vcov(fit)))), grid = grid_of(rg),
  equal = tests(equal, "none"), proportional = tests(emmeans(rg, "model", weights = "proportional"), "none"),
  mix = tests(emmeans(emmeans(rg, ~ model * scenario), "model", weights = mix), "none"), mix_weights = mix,
  cells = tests(cells, "none"),
  pairs_tukey = tests(pairs(equal), "tukey"), pairs_holm = tests(pairs(equal), "holm"),
  control_mvt = tests(contrast(equal, "trt.vs.ctrl", ref = 1), "none"), eff = tests(contrast(equal, "eff"), "none"),
  del_eff = tests(contrast(equal, "del.eff"), "none"),
  within = tests(contrast(by_model, "trt.vs.ctrl", ref = 1), "holm"),
  interaction = tests(contrast(cells, interaction = c(model = "pairwise", scenario = "trt.vs.ctrl")), "none"),
  joint = table_of(joint_tests(fit)))

# A cell that no row fills: coefficients that cannot be estimated.
e <- d[!(d$model == "B" & d$scenario == "rude"), ]
ols <- lm(score ~ model * scenario, e)
rg0 <- ref_grid(ols)
kept <- !is.na(coef(ols))
empty <- list(
  kept = which(kept) - 1, beta = unname(coef(ols)[kept]), vcov = rows_of(unname(vcov(ols)[kept, kept])), df = df.residual(ols),
  grid = grid_of(rg0), design = rows_of(unname(unique(model.matrix(~ model * scenario, e)))),
  model = tests(emmeans(rg0, "model"), "none"), scenario = tests(emmeans(rg0, "scenario"), "none"),
  additive = { a <- lm(score ~ model + scenario, e); list(grid = grid_of(ref_grid(a)), beta = unname(coef(a)),
    vcov = rows_of(unname(vcov(a))), df = df.residual(a), model = tests(emmeans(ref_grid(a), "model"), "none")) })

# Binomial, several factors, and cbpp.
b <- d; b$right <- rbinom(nrow(b), 1, plogis(b$score))
glm <- glmer(right ~ model * scenario + lang + (1 | item), b, family = "binomial",
             control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-10))
rgb <- ref_grid(glm)
binomial <- list(
  data = list(right = b$right), theta = unname(getME(glm, "theta")), beta = unname(fixef(glm)),
  vcov = rows_of(unname(as.matrix(vcov(glm)))), grid = grid_of(rgb),
  response = tests(emmeans(rgb, "model", type = "response"), "none"),
  pairs_tukey = tests(pairs(emmeans(rgb, "model")), "tukey"), cells = tests(emmeans(rgb, ~ model * scenario), "none"))
cb <- glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, family = "binomial",
            control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-13))  # at the default its Hessian errs by 3%
hess <- cb@optinfo$derivs$Hessian
cbpp_out <- list(
  theta = unname(getME(cb, "theta")), beta = unname(fixef(cb)), vcov = rows_of(unname(as.matrix(vcov(cb)))),
  joint = rows_of(unname(solve(hess / 2))),
  response = tests(emmeans(cb, "period", type = "response"), "none"), pairs_tukey = tests(pairs(emmeans(cb, "period")), "tukey"),
  pairs_holm = tests(pairs(emmeans(cb, "period")), "holm"),
  control_holm = tests(contrast(emmeans(cb, "period"), "trt.vs.ctrl", ref = 1), "holm"), grid = grid_of(ref_grid(cb)),
  mvt_control = local({ k <- contrast(emmeans(cb, "period"), "trt.vs.ctrl", ref = 1); t <- abs(as.data.frame(k)$z.ratio)
    R <- cov2cor(vcov(k))
    sapply(t, function(c) 1 - pmvnorm(rep(-c, 3), rep(c, 3), corr = R, algorithm = GenzBretz(2e5, 1e-7, 0))[1]) }))

# The laws themselves.
ptukey_out <- expand.grid(q = c(0.5, 2, 3.5, 6, 9), n = c(2, 3, 7, 20), df = c(2, 5.5, 30, Inf))
ptukey_out$p <- ptukey(ptukey_out$q, ptukey_out$n, ptukey_out$df, lower.tail = FALSE)
ptukey_out$df[is.infinite(ptukey_out$df)] <- -1
set.seed(7)
A <- matrix(rnorm(6 * 9), 6); R <- cov2cor(A %*% t(A))
mvt_out <- list(correlation = rows_of(R), c = c(1, 2, 2.5, 3, 4), df = c(7, 40),
  p = lapply(c(7, 40), function(df) sapply(c(1, 2, 2.5, 3, 4), function(c)
    1 - pmvt(rep(-c, 6), rep(c, 6), df = df, corr = R, algorithm = GenzBretz(2e5, 1e-7, 0))[1])))

# Balanced designs: model x (item in scenario), and model x item x trial.
set.seed(9)
effects <- function(n, s) rnorm(n, 0, s)
g <- expand.grid(item = 1:9, scenario = 1:5, model = 1:7)
g$it <- interaction(g$scenario, g$item); g$ms <- interaction(g$model, g$scenario)
g$y <- effects(7, 1)[g$model] + effects(5, .8)[g$scenario] + effects(45, .7)[as.integer(g$it)] + effects(35, .5)[as.integer(g$ms)] +
  effects(nrow(g), .6)
nested <- lmer(y ~ 1 + (1 | model) + (1 | scenario) + (1 | it) + (1 | ms), g)
h <- expand.grid(trial = 1:3, item = 1:10, model = 1:8); h$mi <- interaction(h$model, h$item)
h$y <- effects(8, 1)[h$model] + effects(10, .8)[h$item] + effects(80, .7)[as.integer(h$mi)] + effects(nrow(h), .6)
trials <- lmer(y ~ 1 + (1 | model) + (1 | item) + (1 | mi), h)
parts <- function(f) { v <- as.data.frame(VarCorr(f)); setNames(as.list(v$vcov), v$grp) }
gstudy <- list(
  nested = list(y = g$y, shape = c(7, 5, 9), variances = parts(nested)),
  trials = list(y = h$y, shape = c(8, 10, 3), variances = parts(trials)))

# An intraclass correlation of unequal groups: mean squares and the exact limits, by R's own F quantiles.
set.seed(3); sizes <- c(2, 7, 3, 9, 4, 12, 2, 5); grp <- rep(seq_along(sizes), sizes)
v <- effects(8, .9)[grp] + effects(length(grp), 1)
a <- anova(lm(v ~ factor(grp)))
icc_limits <- local({ m <- tapply(v, grp, mean); msw <- a$`Mean Sq`[2]
  H <- function(L, p) { w <- sizes / (1 + sizes * L); c <- sum(w * m) / sum(w); sum(w * (m - c)^2) / 7 / msw - qf(p, 7, length(v) - 8) }
  L <- c(uniroot(H, c(-.08, 50), p = .975, tol = 1e-12)$root, uniroot(H, c(-.08, 50), p = .025, tol = 1e-12)$root); L / (1 + L) })
icc <- list(values = v, groups = grp - 1, mean_squares = a$`Mean Sq`, limits = icc_limits)

write_json(list(linear = linear, empty_cell = empty, binomial = binomial, cbpp = cbpp_out, ptukey = ptukey_out, mvt = mvt_out,
                gstudy = gstudy, icc = icc), "mixed_means.json", digits = 12, auto_unbox = TRUE, na = "null")
