# How R reads formulas of mixed models, and the matrices it makes of them.
# Run as `Rscript make_mixing.R mixing.json`. R 4.2.2, lme4 1.1-31, lmerTest 3.1-3, pbkrtest 0.5.2, emmeans 1.8.4, jsonlite.
suppressPackageStartupMessages({library(lme4); library(jsonlite)})
out <- commandArgs(TRUE)[1]

# Fixed part as sets of columns (without the intercept), random part as (intercept, effects, grouping columns).
factors_of <- function(labels) lapply(labels, function(l) I(sort(gsub("`", "", strsplit(l, ":", fixed = TRUE)[[1]]))))
group_of <- function(g) I(sort(all.vars(g)))
read_one <- function(text) {
  f <- expandDoubleVerts(as.formula(text))
  fixed <- terms(nobars(f))
  bars <- findbars(f)
  list(
    formula = text,
    intercept = attr(fixed, "intercept") == 1,
    fixed = factors_of(attr(fixed, "term.labels")),
    random = lapply(bars, function(b) {
      left <- terms(as.formula(substitute(~x, list(x = b[[2]]))))
      list(intercept = attr(left, "intercept") == 1, effects = factors_of(attr(left, "term.labels")), group = group_of(b[[3]]))
    })
  )
}
formulas <- c(
  "y ~ (1|g)", "y ~ x + (1|g)", "y ~ x + (x|g)", "y ~ x + (1+x|g)", "y ~ x + (x||g)", "y ~ x + (1+x||g)", "y ~ x + (0+x||g)",
  "y ~ x*z + (x*z||g)", "y ~ x + (x+z||g)", "y ~ x + (0+x|g)", "y ~ x + (-1+x|g)", "y ~ x + (x-1|g)", "y ~ a + (0+a|g)",
  "y ~ a*b + (1|g) + (1|h)", "y ~ a + (1|g/h)", "y ~ a + (1|g/h/k)", "y ~ a + (x|g/h)", "y ~ a + (x||g/h)", "y ~ a + (1|g:h)",
  "y ~ a:b + (1|g)", "y ~ a + a:b + (1|g)", "y ~ a/b + (1|g)", "y ~ a/b/c + (1|g)", "y ~ (a+b)/c + (1|g)", "y ~ a/(b+c) + (1|g)",
  "y ~ (a+b+c)^2 + (1|g)", "y ~ (a+b+c)^3 + (1|g)", "y ~ a*b*c - a:b:c + (1|g)", "y ~ a*b - a + (1|g)", "y ~ 0 + a + (1|g)",
  "y ~ a - 1 + (1|g)", "y ~ -1 + a*b + (1|g)", "y ~ a + b:c + (1|g)", "y ~ a*b:c + (1|g)", "y ~ a:b*c + (1|g)",
  "y ~ a^2 + (1|g)", "y ~ a:b^2 + (1|g)", "y ~ (a + b):c + (1|g)", "y ~ (a:b)/c + (1|g)", "y ~ a + b - b + (1|g)", "y ~ 1 + (1|g)",
  "y ~ a + a + (1|g)", "y ~ b:a + a:b + (1|g)", "y ~ (a+b)*(c+x) + (1|g)", "y ~ a + (1|g) + (0+x|g) + (1|h:g)", "y ~ (a + (1|g))",
  "y ~ 0 + a + 1 + (1|g)", "y ~ `a b`*c + (1|`g h`)", "y ~ a*a + (1|g)", "y ~ x:a:b + (1|g)"
)

# Model matrices on a fixed unbalanced table in which every combination of a and b occurs.
table <- expand.grid(a = c("p", "q", "r"), b = c("u", "v"), k = 1:2)
table <- rbind(table, table[c(2, 5, 9), ])
table$x <- c(1.5, -2, 0.25, 3, 1, 0, -1, 2.5, 4, -0.5, 1.25, 2, 7, 0.125, -3)
table$z <- cos(seq_len(nrow(table)))
matrices <- c("~ a", "~ a + b", "~ a * b", "~ 0 + a", "~ 0 + a + b", "~ 0 + a:b", "~ a/b", "~ a:b", "~ a + a:b", "~ x * a", "~ 0 + a + a:x",
  "~ x + x:a", "~ a * b * x", "~ (a + b + x)^2", "~ 0 + a * b", "~ b + a:b", "~ a:x", "~ x:z + a", "~ x + z + x:z", "~ 0 + x", "~ a * b - a")
made <- lapply(matrices, function(m) {
  X <- model.matrix(as.formula(m), table)
  list(formula = m, names = I(colnames(X)), matrix = unname(X), rank = qr(X)$rank)
})

# What lme4 keeps where a cell is empty and where one column is another.
set.seed(4)
short <- table[!(table$a == "q" & table$b == "v"), ]
short <- rbind(short, short, short); short$g <- factor(rep(1:6, length.out = nrow(short))); short$y <- rnorm(nrow(short))
short$w <- 2 * short$x
dropped <- lapply(c("y ~ a * b + (1|g)", "y ~ a + b + a:b + x + (1|g)", "y ~ a/b + (1|g)"), function(f) {
  m <- suppressMessages(suppressWarnings(lFormula(as.formula(f), short)))
  list(formula = f, kept = I(colnames(m$X)), dropped = I(attr(m$X, "col.dropped") |> names()))
})

# An unbalanced table fitted whole: fixed effects, type III tests, marginal means and comparisons.
suppressPackageStartupMessages({library(lmerTest); library(pbkrtest); library(emmeans)})
set.seed(20)
d <- expand.grid(item = sprintf("i%02d", 1:16), model = c("a", "b", "c"), trial = 1:3, stringsAsFactors = FALSE)
d <- d[sort(sample(nrow(d), 100)), ]
d$scenario <- c("s", "t")[(as.integer(substr(d$item, 2, 3)) %% 3 == 0) + 1]
d$x <- round(rnorm(nrow(d)), 2)
effect <- setNames(rnorm(16, sd = 0.8), unique(sort(d$item)))
d$y <- round(effect[d$item] + 0.5 * (d$model == "b") * (d$scenario == "t") + 0.3 * d$x + rnorm(nrow(d)), 3)
d$k <- rbinom(nrow(d), 1, plogis(effect[d$item] + 0.7 * (d$model == "b")))
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10))
m <- lmer(y ~ model * scenario + x + (1 | item) + (1 | item:model), d, control = control)
tests <- function(ddf) { a <- anova(m, type = 3, ddf = ddf); cbind(term = rownames(a), as.data.frame(a)) }
coefs <- function(ddf) { s <- coef(summary(m, ddf = ddf)); cbind(term = rownames(s), as.data.frame(s)) }
table_of <- function(e) as.data.frame(summary(e))
emm_options(lmer.df = "kenward-roger", lmerTest.limit = 5000)
ml <- function(f) lme4::lmer(f, d, REML = FALSE, control = control)
lr <- anova(ml(y ~ model + scenario + x + (1 | item) + (1 | item:model)), ml(y ~ model * scenario + x + (1 | item) + (1 | item:model)))
vr <- anova(lme4::lmer(y ~ model + (1 | item), d, control = control), lme4::lmer(y ~ model + (x || item), d, control = control), refit = FALSE)
g <- glmer(k ~ model + scenario + (1 | item), d, family = binomial, control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(rhoend = 1e-9)))
whole <- list(
  data = as.list(d[c("item", "model", "scenario", "x", "y", "k")]),
  reml = as.numeric(-2 * logLik(m)), aic = AIC(m), bic = BIC(m),
  variances = as.data.frame(VarCorr(m))[c("grp", "vcov")],
  kr = coefs("Kenward-Roger"), satterthwaite = coefs("Satterthwaite"),
  tests_kr = tests("Kenward-Roger"), tests_satterthwaite = tests("Satterthwaite"),
  means = table_of(emmeans(m, ~ model)), proportional = table_of(emmeans(m, ~ model, weights = "proportional")),
  cells = table_of(emmeans(m, ~ model | scenario)),
  holm = table_of(pairs(emmeans(m, ~ model), adjust = "holm")), tukey = table_of(pairs(emmeans(m, ~ model), adjust = "tukey")),
  within = table_of(contrast(emmeans(m, ~ model | scenario), "trt.vs.ctrl", adjust = "holm")),
  likelihood_ratio = list(chisq = lr$Chisq[2], df = lr$Df[2], p = lr$`Pr(>Chisq)`[2]),
  variance_ratio = list(chisq = vr$Chisq[2], p_half = vr$`Pr(>Chisq)`[2] / 2),
  ranef = as.data.frame(ranef(m, condVar = TRUE))[c("grpvar", "grp", "condval", "condsd")],
  binomial = list(deviance = as.numeric(-2 * logLik(g)), beta = as.list(fixef(g)), bic = BIC(g))
)

write_json(list(
  source = paste("R 4.2.2, lme4 1.1-31: expandDoubleVerts, findbars, nobars, terms; model.matrix; lFormula.",
    "whole: lme4, lmerTest 3.1-3, pbkrtest 0.5.2, emmeans 1.8.4"),
  whole = whole,
  formulas = lapply(formulas, read_one),
  table = as.list(table[c("a", "b", "x", "z")]), matrices = made,
  short = as.list(short[c("a", "b", "x", "w", "g", "y")]), dropped = dropped
), out, digits = NA, auto_unbox = TRUE)
