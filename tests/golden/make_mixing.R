# How R reads formulas of mixed models, and the matrices it makes of them.
# Run as `Rscript make_mixing.R mixing.json`. R 4.2.2, lme4 1.1-31, jsonlite.
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

write_json(list(
  source = "R 4.2.2, lme4 1.1-31: expandDoubleVerts, findbars, nobars, terms; model.matrix; lFormula",
  formulas = lapply(formulas, read_one),
  table = as.list(table[c("a", "b", "x", "z")]), matrices = made,
  short = as.list(short[c("a", "b", "x", "w", "g", "y")]), dropped = dropped
), out, digits = NA, auto_unbox = TRUE)
