"""Long names: short on the page, still two, and in full once."""

from evalstats.report.names import shortened


def test_names_of_models_stay_whole() -> None:
    assert shortened("meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo") == "meta-llama/Meta-Llama-3.1-405B-Instruct-Turbo"
