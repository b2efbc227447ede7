# Cells of models and scenarios, a split of the variance, and predicted scenarios, of three small simulated tables.
# Run as `Rscript make_scenarios.R scenarios.json`. R 4.2.2, lme4 1.1-31, emmeans 1.8.4, jsonlite.
suppressPackageStartupMessages({library(lme4); library(emmeans); library(jsonlite)})
out <- commandArgs(TRUE)[1]
set.seed(5)
gc <- glmerControl(optimizer = "bobyqa", tolPwrss = 1e-10, optCtrl = list(rhoend = 1e-8, maxfun = 1e5))
lc <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5))
table_of <- function(models, scenarios, items) {
  d <- expand.grid(model = models, item = seq_len(items), scenario = scenarios, stringsAsFactors = FALSE)
  d$item <- sprintf("%s-%02d", d$scenario, d$item)
  d
}
draw <- function(names, sd) setNames(rnorm(length(names), sd = sd), names)
components <- function(m) { v <- as.data.frame(VarCorr(m)); setNames(as.list(v$vcov), v$grp) }
cells <- function(m) as.data.frame(summary(emmeans(m, ~ model * scenario)))[c("model", "scenario", "emmean", "SE")]

# Right or wrong, scenarios fixed.
b <- table_of(c("a", "b", "c"), c("s1", "s2", "s3"), 40)
item <- draw(unique(b$item), 1)
b$score <- rbinom(nrow(b), 1, plogis(0.4 + item[b$item] + c(a = .5, b = 0, c = -.5)[b$model] - 1 * (b$scenario == "s3") * (b$model == "a")))
mb <- glmer(score ~ model * scenario + (1 | item), b, family = binomial, control = gc)
ob <- glmer(score ~ 1 + (1 | model) + (1 | scenario) + (1 | model:scenario) + (1 | item), b, family = binomial, control = gc)

# Graded with two trials, scenarios fixed.
g <- table_of(c("a", "b", "c"), c("s1", "s2", "s3"), 20)
item <- draw(unique(g$item), 1); both <- draw(paste(g$item, g$model), 0.7)
g$score <- round(3 + item[g$item] + both[paste(g$item, g$model)] - (g$scenario == "s3") * (g$model == "a") + rnorm(nrow(g)), 2)
g2 <- g; g2$score <- round(g$score + rnorm(nrow(g), sd = 0.8), 2)
g$trial <- 0; g2$trial <- 1; g <- rbind(g, g2)
mg <- lmer(score ~ model * scenario + (1 | item) + (1 | item:model), g, control = lc)
og <- lmer(score ~ 1 + (1 | model) + (1 | scenario) + (1 | model:scenario) + (1 | item) + (1 | item:model), g, control = lc)

# Graded, twelve scenarios as a sample.
r <- table_of(c("a", "b"), sprintf("s%02d", 1:12), 8)
item <- draw(unique(r$item), 0.6); scenario <- draw(unique(r$scenario), 0.9); both <- draw(unique(paste(r$model, r$scenario)), 0.5)
r$score <- round(item[r$item] + scenario[r$scenario] + both[paste(r$model, r$scenario)] + (r$model == "a") * 0.4 + rnorm(nrow(r)), 2)
mr <- lmer(score ~ model + (1 | item) + (1 | scenario) + (1 | model:scenario), r, control = lc)
modes <- ranef(mr)$scenario
means <- as.data.frame(summary(emmeans(mr, ~ model)))[c("model", "emmean", "SE")]
p <- expand.grid(model = c("a", "b"), scenario = sort(unique(r$scenario)), stringsAsFactors = FALSE)
p$value <- predict(mr, p, re.form = ~ (1 | scenario) + (1 | model:scenario))
write_json(list(
  source = "lme4 1.1-31 (Laplace with tolPwrss = 1e-10; REML), emmeans 1.8.4",
  binary = list(data = b, log_likelihood = as.numeric(logLik(mb)), cells = cells(mb), item = components(mb)$item, parts = components(ob)),
  graded = list(data = g, log_likelihood = as.numeric(logLik(mg)), cells = cells(mg), parts = components(og)),
  sampled = list(data = r, log_likelihood = as.numeric(logLik(mr)), means = means, predicted = p,
    parts = components(mr), modes = data.frame(level = rownames(modes), value = modes[[1]]))
), out, digits = 9, auto_unbox = TRUE, dataframe = "columns")
