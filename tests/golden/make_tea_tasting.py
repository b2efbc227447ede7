"""An A/B test of simulated users by tea-tasting, in an environment of its own (pyarrow and narwhals with it).

Run as `python -m venv tea && tea/bin/pip install tea-tasting==1.14.0 && tea/bin/python tests/golden/make_tea_tasting.py`.
"""

import json
from pathlib import Path

N_USERS = 400


def made() -> dict:
    import tea_tasting as tt  # not in our environment, where tests import this file too

    users = tt.make_users_data(rng=42, n_users=N_USERS, covariates=True)
    users = users.append_column("ordered", [[int(n > 0) for n in users["orders"].to_pylist()]])
    found = tt.Experiment(
        mean=tt.Mean("revenue"),
        ratio=tt.RatioOfMeans("orders", "sessions"),
        proportion=tt.Proportion("ordered", method="norm", correction=False),
        cuped=tt.Mean("revenue", "revenue_covariate"),
        sample_ratio=tt.SampleRatio(method="binom"),
    ).analyze(users)
    kept = ("variant", "sessions", "orders", "revenue", "revenue_covariate")
    return {
        "made_by": f"tea-tasting {tt.__version__}, make_users_data(rng=42, n_users={N_USERS}, covariates=True)",
        "users": {name: users[name].to_pylist() for name in kept},
        **{name: each._asdict() for name, each in found.items()},
    }


if __name__ == "__main__":
    path = Path(__file__).with_name("tea_tasting.json")
    path.write_text(json.dumps(made(), separators=(",", ":")) + "\n")
