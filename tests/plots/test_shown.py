"""A figure shows itself in a notebook."""

import evalstats as es


def test_a_figure_is_a_picture_in_a_notebook() -> None:
    figure = es.plots.forest(
        {"label": ["a", "b"], "estimate": [1.0, 2.0], "conf_low": [0.5, 1.0], "conf_high": [1.5, 3.0]}
    )
    assert figure._repr_png_().startswith(b"\x89PNG")
    result = es.compare(es.datasets.tenacious_held_out(), "baseline", "trained")
    assert result.figure()._repr_png_().startswith(b"\x89PNG")
