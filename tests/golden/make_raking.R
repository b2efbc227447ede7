# Post-stratified and raked means of clustered items, with their linearised errors.
# Run as `Rscript make_raking.R raking.json`. R 4.2.2, survey, jsonlite.
suppressPackageStartupMessages({library(survey); library(jsonlite)})
out <- commandArgs(TRUE)[1]
set.seed(5)
n <- 90
d <- data.frame(
  id = 1:n, cluster = rep(1:30, each = 3),
  scenario = sample(c("ask", "fix", "plan"), n, TRUE, c(.5, .3, .2)), user = sample(c("ideal", "other"), n, TRUE, c(.7, .3))
)
shift <- c(ask = 1, fix = 0, plan = -1)[d$scenario] - (d$user == "other") + rep(rnorm(30), each = 3)
d$y <- as.numeric(runif(n) < plogis(shift))
wanted <- list(scenario = c(ask = .2, fix = .3, plan = .5), user = c(ideal = .45, other = .55))
frame <- function(name) setNames(data.frame(names(wanted[[name]]), n * unname(wanted[[name]])), c(name, "Freq"))
kinds <- list(items = ~id, clusters = ~cluster)
answer <- function(design) {
  mean <- svymean(~y, design)
  list(weights = unname(weights(design)), mean = as.numeric(mean), std_error = as.numeric(SE(mean)))
}
tight <- list(epsilon = 1e-13, maxit = 1000)
results <- lapply(kinds, function(ids) {
  design <- svydesign(ids = ids, weights = ~1, data = d)
  list(
    poststratified = answer(postStratify(design, ~scenario, frame("scenario"))),
    raked = answer(rake(design, list(~scenario, ~user), list(frame("scenario"), frame("user")), control = tight))
  )
})
write_json(list(
  source = paste("survey", packageVersion("survey"), "postStratify, rake (epsilon 1e-13), svymean"),
  data = d, wanted = lapply(wanted, as.list), results = results
), out, digits = 14, auto_unbox = TRUE, dataframe = "columns")
