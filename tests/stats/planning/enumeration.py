"""Power by its definition: the sum over every table."""

from scipy import stats

from evalstats.stats.paired.binary import PairedCounts


def enumerated_power(n, p10, p01, rejects):
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            if rejects(PairedCounts(n - b - c, b, c, 0)):
                total += stats.multinomial.pmf([b, c, n - b - c], n, [p10, p01, 1 - p10 - p01])
    return total
