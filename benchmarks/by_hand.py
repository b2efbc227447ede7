"""What an analyst would write with pandas, scipy and statsmodels to compare two runs: `by_hand.py SCORES.csv`."""

import sys

import numpy as np
import pandas as pd
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

scores = pd.read_csv(sys.argv[1]).pivot_table(index="item", columns="model", values="score")
difference = (scores["b"] - scores["a"]).to_numpy()
test = mcnemar(pd.crosstab(scores["a"], scores["b"]), exact=False, correction=False)
found = stats.bootstrap((difference,), np.mean, method="percentile", n_resamples=9999, batch=100)
print(difference.mean(), found.confidence_interval, test.pvalue)
