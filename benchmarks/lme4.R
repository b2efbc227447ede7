# lme4 on the same rows, run by Rscript: answers every line of its input with what one fit took, as worker.py does.
# lme4.R CALL FOLDER
arguments <- commandArgs(trailingOnly = TRUE)
suppressPackageStartupMessages(library(lme4))
file <- file.path(arguments[2], "data.bin")
columns <- matrix(readBin(file, "double", file.size(file) / 8), ncol = 4)
data <- data.frame(item = factor(columns[, 1]), model = factor(columns[, 2]), both = factor(columns[, 3]), y = columns[, 4])
rm(columns)
run <- switch(arguments[1],
  linear = function() lmer(y ~ 1 + (1 | item) + (1 | model) + (1 | both), data),
  binomial = function() glmer(y ~ model + (1 | item) + (1 | both), data, binomial)
)
peak <- function() {
  lines <- if (file.exists("/proc/self/status")) readLines("/proc/self/status") else character()
  found <- as.numeric(gsub("[^0-9]", "", grep("VmHWM", lines, value = TRUE))) / 1024
  if (length(found)) sprintf("%.1f", found) else "null"
}
timed <- function() {
  spent <- system.time(fit <- suppressMessages(suppressWarnings(run())))
  list(seconds = sum(spent[1:2]), answer = as.numeric(logLik(fit)))
}
first <- timed()
version <- sprintf("%s (R %s.%s)", packageVersion("lme4"), R.version$major, R.version$minor)
cat(sprintf('@{"seconds": %.6f, "peak_mb": %s, "answer": [%.9f], "version": "%s"}\n',
            first$seconds, peak(), first$answer, version))
flush(stdout())
input <- file("stdin", "r")
while (length(readLines(input, n = 1)) > 0) {
  cat(sprintf('@{"seconds": %.6f}\n', timed()$seconds))
  flush(stdout())
}
