# Reference values for inference on linear mixed models: writes mixed_inference.json beside itself.
# R 4.2.2, lme4 1.1-31, lmerTest 3.1-3, pbkrtest 0.5.2, clubSandwich 0.5.8, RLRsim 3.1-8.
# Run from this folder: Rscript make_mixed_inference.R <folder with sleepstudy.csv, Penicillin.csv, Pastes.csv>
suppressMessages({library(lme4); library(lmerTest); library(pbkrtest); library(clubSandwich); library(RLRsim); library(jsonlite)})
folder <- commandArgs(trailingOnly = TRUE)[1]
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10), calc.derivs = FALSE)

rows_of <- function(m) lapply(seq_len(nrow(m)), function(i) unname(m[i, ]))

# One design: the REML fit, tests of each coefficient and of all but the intercept, profile intervals of the ML fit.
case <- function(formula, data, joint = NULL, profiles = TRUE) {
  fit <- lmer(formula, data, REML = TRUE, control = control)
  p <- length(fixef(fit))
  if (is.null(joint)) joint <- 2:p
  L <- diag(p)[joint, , drop = FALSE]
  sat <- lapply(1:p, function(j) as.list(contest1D(fit, diag(p)[j, ], ddf = "Satterthwaite")))
  kr <- lapply(1:p, function(j) as.list(contest1D(fit, diag(p)[j, ], ddf = "Kenward-Roger")))
  small <- update(fit, . ~ . , REML = TRUE)
  ml <- update(fit, REML = FALSE)
  out <- list(
    formula = deparse(formula), data = as.list(data), joint = joint - 1,
    theta = unname(getME(fit, "theta")), sigma = sigma(fit), reml = unname(REMLcrit(fit)),
    beta_names = names(fixef(fit)), beta = unname(fixef(fit)),
    vcov = rows_of(as.matrix(vcov(fit))), vcov_kr = rows_of(as.matrix(vcovAdj(fit))),
    satterthwaite_df = sapply(sat, `[[`, "df"), satterthwaite_t = sapply(sat, `[[`, "t value"),
    kr_df = sapply(kr, `[[`, "df"), kr_t = sapply(kr, `[[`, "t value"),
    satterthwaite_F = as.list(contestMD(fit, L, ddf = "Satterthwaite")),
    kr_F = as.list(contestMD(fit, L, ddf = "Kenward-Roger")),
    kr_raw = as.list(pbkrtest::KRmodcomp(fit, L)$test["Ftest", ]),
    ml_theta = unname(getME(ml, "theta")), ml_sigma = sigma(ml), ml_deviance = unname(deviance(ml)))
  null <- update(ml, reformulate(c("1", sapply(findbars(formula), function(b) paste0("(", deparse(b), ")"))),
                                 response = all.vars(formula)[1]))
  test <- anova(null, ml)
  out$lr <- list(chisq = test$Chisq[2], df = test$Df[2], p = test$`Pr(>Chisq)`[2])
  if (profiles) {
    ci <- suppressWarnings(confint(ml, method = "profile", oldNames = FALSE, devtol = 1e-8, quiet = TRUE))
    out$profile <- lapply(seq_len(nrow(ci)), function(i) list(term = rownames(ci)[i], low = ci[i, 1], high = ci[i, 2]))
  }
  out
}

robust <- function(formula, data, cluster, joint = NULL) {
  fit <- lme4::lmer(formula, data, REML = TRUE, control = control)
  p <- length(fixef(fit))
  if (is.null(joint)) joint <- 2:p
  V <- vcovCR(fit, cluster = data[[cluster]], type = "CR2")
  tests <- coef_test(fit, vcov = V, test = "Satterthwaite")
  wald <- Wald_test(fit, constraints = constrain_zero(joint), vcov = V, test = "HTZ")
  list(formula = deparse(formula), data = as.list(data), cluster = cluster, joint = joint - 1,
       theta = unname(getME(fit, "theta")), sigma = sigma(fit),
       CR0 = rows_of(as.matrix(vcovCR(fit, cluster = data[[cluster]], type = "CR0"))),
       CR2 = rows_of(as.matrix(V)), df = tests$df_Satt,
       HTZ = list(F = wald$Fstat, df = wald$df_denom, p = wald$p_val))
}

sleep <- read.csv(file.path(folder, "sleepstudy.csv"))
sleep <- data.frame(reaction = sleep$Reaction, days = sleep$Days, subject = as.character(sleep$Subject))
holes <- sleep[-c(1, 5, 17, 33, 34, 35, 36, 60, 77, 120, 121, 122, 123, 124, 160), ]

penicillin <- read.csv(file.path(folder, "Penicillin.csv"))
penicillin$lab <- c("x", "y", "z")[1 + (as.integer(factor(penicillin$plate)) * 2 + as.integer(factor(penicillin$sample))) %% 3]
penicillin <- penicillin[-c(3, 4, 5, 20, 41, 42, 77, 78, 79, 80, 110, 143), ]

pastes <- read.csv(file.path(folder, "Pastes.csv"))
pastes <- pastes[-c(2, 9, 10, 31, 44, 57), ]

set.seed(20)
grid <- expand.grid(model = c("m1", "m2", "m3", "m4"), item = 1:60)
grid$scenario <- sprintf("s%02d", 1 + (grid$item^2 + 3) %% 11)
grid$item <- sprintf("i%02d", grid$item)
effect <- function(key, sd) { u <- rnorm(length(unique(key)), 0, sd); u[match(key, unique(key))] }
grid$score <- c(.5, .6, .55, .75)[as.integer(grid$model)] + effect(grid$scenario, .1) + effect(grid$item, .15) +
  effect(paste(grid$scenario, grid$model), .08)
grid <- grid[rep(seq_len(nrow(grid)), 1 + (seq_len(nrow(grid)) * 7) %% 3), ]
grid$score <- round(grid$score + rnorm(nrow(grid), 0, .2), 3)
grid <- grid[!(grid$model == "m3" & grid$scenario %in% c("s02", "s05")), ]
grid <- grid[sort(sample(nrow(grid), 380)), ]
grid$model <- as.character(grid$model)
rownames(grid) <- NULL

set.seed(5)  # item:model has no variance here, so that the fit lies on the boundary
flat <- expand.grid(model = c("a", "b", "c"), item = sprintf("i%02d", 1:15), trial = 1:3)
flat$score <- round(c(0, .3, .5)[as.integer(flat$model)] + effect(flat$item, 1) + rnorm(nrow(flat)), 3)
flat <- flat[-c(4, 9, 30, 31, 77, 100), ]
flat$model <- as.character(flat$model)

nested <- grid
nested$kind <- c("ideal", "other")[1 + (as.integer(factor(nested$item)) * 5) %% 2]

lr <- exactRLRT(lme4::lmer(score ~ model + (1 | item), flat), seed = 1, nsim = 10)
fit <- lme4::lmer(strength ~ cask + (1 | batch), pastes)
set.seed(3)
draws <- RLRTSim(getME(fit, "X"), as.matrix(t(getME(fit, "Zt"))), qr(getME(fit, "X")), diag(nlevels(factor(pastes$batch))), nsim = 2e6)

cbpp <- read.csv(file.path(folder, "cbpp.csv"))
cbpp$period <- factor(cbpp$period)
herds <- glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial,
               control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12, optCtrl = list(rhoend = 1e-9), calc.derivs = FALSE))
ci <- suppressWarnings(confint(herds, method = "profile", oldNames = FALSE, quiet = TRUE))

result <- list(
  sleepstudy = case(reaction ~ days + (days | subject), sleep),
  sleepstudy_holes = case(reaction ~ days + (days | subject), holes),
  sleepstudy_uncorrelated = case(reaction ~ days + (1 | subject) + (0 + days | subject), holes),
  penicillin = case(diameter ~ lab + (1 | plate) + (1 | sample), penicillin),
  pastes = case(strength ~ cask + (1 | batch) + (1 | sample), pastes),
  crossed = case(score ~ model + (1 | scenario) + (1 | item) + (1 | model:scenario), grid),
  boundary = case(score ~ model + (1 | item) + (1 | model:item), flat, profiles = FALSE),
  robust_sleepstudy = robust(reaction ~ days + (days | subject), holes, "subject"),
  robust_items = robust(score ~ model + kind + (1 | item), nested, "item", joint = 2:4),
  robust_scenarios = robust(score ~ model * kind + (1 | scenario) + (1 | item) + (1 | model:scenario), nested, "scenario", joint = 6:8),
  cbpp = list(formula = "cbind(incidence, size - incidence) ~ period + (1 | herd)",
              profile = lapply(seq_len(nrow(ci)), function(i) list(term = rownames(ci)[i], low = ci[i, 1], high = ci[i, 2]))),
  rlrt = list(formula = "strength ~ cask + (1 | batch)", data = as.list(pastes), nsim = 2e6,
              share_zero = mean(draws < 1e-12), quantiles = list(p = c(.8, .9, .95, .99), value = unname(quantile(draws, c(.8, .9, .95, .99)))))
)
write_json(result, "mixed_inference.json", digits = 12, auto_unbox = TRUE)
