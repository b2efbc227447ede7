# Reference values for fits of linear mixed models: writes mixed_linear.json beside itself.
# R 4.2.2, lme4 1.1-31. Run from this folder: Rscript make_mixed_linear.R
suppressMessages({library(lme4); library(jsonlite)})
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5), calc.derivs = FALSE,
                       check.conv.singular = "ignore")

rows_of <- function(m) lapply(seq_len(nrow(m)), function(i) unname(m[i, ]))

fitted_values <- function(formula, data, reml) {
  fit <- lmer(formula, data, REML = reml, control = control)
  modes <- ranef(fit, condVar = TRUE)
  variances <- lapply(modes, function(g) {
    v <- attr(g, "postVar")
    if (is.list(v)) return(lapply(v, function(one) lapply(seq_len(dim(one)[3]), function(i) rows_of(matrix(one[, , i], dim(one)[1])))))
    lapply(seq_len(dim(v)[3]), function(i) rows_of(matrix(v[, , i], dim(v)[1])))
  })
  list(deviance = -2 * as.numeric(logLik(fit)), theta = unname(getME(fit, "theta")), sigma = sigma(fit),
       beta = unname(fixef(fit)), vcov = rows_of(as.matrix(vcov(fit))), groups = names(getME(fit, "cnms")),
       modes = lapply(modes, function(g) list(levels = rownames(g), values = rows_of(as.matrix(g)))),
       variances = variances)
}

case <- function(formula, data) list(formula = deparse(formula), data = as.list(data),
                                     REML = fitted_values(formula, data, TRUE), ML = fitted_values(formula, data, FALSE))
set.seed(20240607)
draw <- function(n, sd) round(rnorm(n, 0, sd), 4)

# Two large crossed factors, unbalanced, as students who rate some of the lecturers.
ratings <- unique(data.frame(student = sprintf("s%02d", sample(60, 420, TRUE)), lecturer = sprintf("d%02d", sample(35, 420, TRUE))))
ratings$service <- as.numeric(runif(nrow(ratings)) < 0.4)
ratings$y <- round(3 + 0.2 * ratings$service + draw(60, .5)[as.integer(factor(ratings$student))] +
                   draw(35, .8)[as.integer(factor(ratings$lecturer))] + draw(nrow(ratings), 1), 3)

# Slopes in two crossed factors.
slopes <- data.frame(person = sprintf("p%02d", sample(25, 300, TRUE)), word = sprintf("w%02d", sample(18, 300, TRUE)), x = draw(300, 1))
p <- as.integer(factor(slopes$person)); w <- as.integer(factor(slopes$word))
slopes$y <- round(1 + .5 * slopes$x + draw(25, 1)[p] + draw(25, .6)[p] * slopes$x + draw(18, .7)[w] + draw(18, .4)[w] * slopes$x +
                  draw(300, 1), 3)

# No variance between groups, so that it is estimated as 0; and slopes whose correlation is estimated as 1 or -1.
none <- data.frame(g = rep(sprintf("g%d", 1:8), each = 6), h = rep(sprintf("h%d", 1:6), 8))
none$y <- round(draw(6, 1)[as.integer(factor(none$h))] + draw(48, 1), 3)
none$y <- round(none$y - ave(none$y, none$g) * .9, 4)
tied <- data.frame(g = rep(sprintf("g%d", 1:7), each = 6), x = rep(0:5, 7))
level <- draw(7, 1)[as.integer(factor(tied$g))]
noise <- residuals(lm(draw(42, 1.2) ~ g * x, tied))
tied$y <- round(1 + level * (1 + .8 * tied$x) + noise, 3)

# Items of different models over trials, nested in scenarios, with trials missing.
scores <- expand.grid(trial = 1:3, model = sprintf("m%d", 1:5), item = sprintf("i%02d", 1:30), stringsAsFactors = FALSE)
scores$scenario <- sprintf("s%d", as.integer(substr(scores$item, 2, 3)) %% 4)
i <- as.integer(factor(scores$item)); m <- as.integer(factor(scores$model))
both <- as.integer(interaction(scores$model, scores$scenario)); cell <- as.integer(interaction(scores$model, scores$item))
scores$y <- round(.2 * m + draw(30, .8)[i] + draw(20, .3)[both] + draw(150, .5)[cell] + draw(nrow(scores), .6), 3)
scores <- scores[runif(nrow(scores)) < .85, c("model", "item", "scenario", "y")]
scores$model_scenario <- paste(scores$model, scores$scenario, sep = ":")
scores$item_model <- paste(scores$item, scores$model, sep = ":")

out <- list(
  crossed = case(y ~ service + (1 | student) + (1 | lecturer), ratings),
  slopes = case(y ~ x + (1 + x | person) + (1 + x | word), slopes),
  zero = case(y ~ 1 + (1 | g) + (1 | h), none),
  tied = case(y ~ x + (1 + x | g), tied),
  scenarios = case(y ~ model + (1 | item) + (1 | model_scenario) + (1 | item_model), scores),
  pastes = case(y ~ 1 + (1 | sample) + (1 | batch), with(Pastes, data.frame(y = strength, sample = as.character(sample), batch = as.character(batch)))))
write_json(out, "mixed_linear.json", digits = 12, auto_unbox = TRUE)
for (name in names(out)) cat(name, out[[name]]$REML$deviance, out[[name]]$REML$theta, "|", out[[name]]$ML$theta, out[[name]]$REML$groups, "\n")
