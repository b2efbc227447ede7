"""The plan of elimination: what falls into blocks and components does so in the data, and every effect has one place."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstats.stats.mixed.design import nested_in
from evalstats.stats.mixed.linear_stages import _all_joined, _components, plan_elimination, within_owner
from tests.stats.mixed.dense import rows_design, term


def design_of(*terms):
    n = len(terms[0].level)
    return rows_design([("(Intercept)", np.ones(n))], terms, np.arange(float(n)))


def names(design, slots):
    return {design.terms[slot.term].group for slot in slots}


def full(n_items, n_models, n_scenarios):
    item, model = np.repeat(np.arange(n_items), n_models), np.tile(np.arange(n_models), n_items)
    scenario = item % n_scenarios
    return {"item": item, "model": model, "scenario": scenario, "model:scenario": model * n_scenarios + scenario}


def test_items_are_blocks_and_scenarios_components():
    groups = full(60, 5, 4)
    design = design_of(*(term(name, labels) for name, labels in groups.items()))
    plan = plan_elimination(design)
    assert names(design, plan.inner) == {"item"}
    assert names(design, plan.middle) == {"scenario", "model:scenario"}
    assert names(design, plan.outer) == {"model"}
    assert (plan.n_components, plan.n_blocks, plan.inner_size, plan.middle_size, plan.outer_size) == (4, 15, 1, 6, 5)
    assert plan.cell_term is None


def test_an_effect_for_each_cell_is_a_stage_of_its_own():
    groups = full(20, 3, 2)
    cell = np.arange(60)
    design = design_of(term("item", groups["item"]), term("item:model", cell), term("model", groups["model"]))
    plan = plan_elimination(design)
    assert plan.cell_term == 1
    assert names(design, plan.inner) == {"item"}


def test_a_single_term_is_eliminated_in_blocks():
    design = design_of(term("g", np.repeat(np.arange(4), 3)))
    plan = plan_elimination(design)
    assert names(design, plan.inner) == {"g"}
    assert (plan.n_blocks, plan.inner_size, plan.outer_size, plan.cell_term) == (4, 1, 0, None)


def test_terms_of_one_grouping_share_a_block():
    group, x = np.repeat(np.arange(6), 4), np.linspace(-1, 1, 24)
    other = np.tile(np.arange(4), 6)
    design = design_of(term("g", group), term("h", other), term("g", group, ("x", x)))
    plan = plan_elimination(design)
    assert [slot.term for slot in plan.inner] == [0, 2]
    assert plan.inner_size == 2


def test_period_of_the_cells_does_not_hide_a_component():
    """Components are sought in a sample of the cells; those that the sample leaves apart are joined by the others."""
    n_items, n_models = 4000, 16
    item, model = np.repeat(np.arange(n_items), n_models), np.tile(np.arange(n_models), n_items)
    both = model * 2 + item % 2
    both[-1] = both[-2]  # one cell meets the level of another model, but of the same half: still two components
    plan = plan_elimination(design_of(term("item", item), term("model:half", both)))
    assert plan.n_components == 2
    both[-1] = both[0]  # one cell joins the halves
    assert plan_elimination(design_of(term("item", item), term("model:half", both))).n_components == 1


def test_nested():
    outer = np.array([0, 0, 1, 1, 2, 2])
    inner = np.array([0, 0, 1, 2, 3, 4])
    assert nested_in(inner, outer)
    assert not nested_in(outer, inner)
    assert nested_in(outer, outer)
    assert not nested_in(np.array([0, 1, 1, 2, 3, 4]), outer)


@st.composite
def designs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(4, 60))
    sizes = draw(st.lists(st.integers(2, 12), min_size=1, max_size=4))
    labels = [rng.integers(0, size, n) for size in sizes]
    if draw(st.booleans()):  # the first is nested in the second
        labels[0] = labels[0] * 100 + labels[-1]
    x = ("x", rng.normal(size=n))
    ones = ("(Intercept)", np.ones(n))
    terms = [term(f"g{k}", each, *([ones, x] if draw(st.booleans()) else [])) for k, each in enumerate(labels)]
    return design_of(*terms)


@settings(max_examples=60, deadline=None)
@given(designs())
def test_stages_do_not_meet(design):
    """No cell joins two blocks, nor two components outside the outer stage; every effect has one place."""
    plan = plan_elimination(design)
    at = np.arange(design.n_cells)
    assert np.array_equal(plan.block // plan.n_blocks, plan.component)
    seen = [plan.cell_term] if plan.cell_term is not None else []
    for slots, size, home in (
        (plan.inner, plan.inner_size, plan.block),
        (plan.middle, plan.middle_size, plan.component),
        (plan.outer, plan.outer_size, np.zeros_like(plan.block)),
    ):
        taken = []
        for slot in slots:
            t = design.terms[slot.term]
            seen.append(slot.term)
            assert slot.n_columns == t.n_columns
            # Every cell finds its effects in its own block or component, within the positions of the term.
            assert np.array_equal(slot.place[t.level] // size, home[at])
            inside = slot.place % size - slot.start
            assert np.all((inside >= 0) & (inside < slot.stop - slot.start) & (inside % t.n_columns == 0))
            taken += [p + k for p in slot.place for k in range(t.n_columns)]
        assert len(set(taken)) == len(taken)
    assert sorted(seen) == list(range(len(design.terms)))
    assert plan.inner


def joined_by_hand(top, terms):
    """Number every block's component, spreading the least number over what meets in a cell until nothing changes."""
    label = np.arange(int(top.max()) + 1)
    while True:
        before = label.copy()
        for t in terms:
            least = np.full(t.n_levels, len(label))
            np.minimum.at(least, t.level, label[top])
            np.minimum.at(label, top, least[t.level])
        if np.array_equal(before, label):
            return label


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 300))
def test_components_are_those_of_all_cells(seed, n):
    """Blocks that meet, over whatever levels, are in one component; where all cells are few, few steps join no others."""
    rng = np.random.default_rng(seed)
    n_blocks, n_parts = int(rng.integers(1, 9)), int(rng.integers(1, 4))
    top = np.concatenate([np.arange(n_blocks), rng.integers(0, n_blocks, n)])
    part = rng.integers(0, n_parts, n_blocks)[top]
    labels = [part * 10 + rng.integers(0, 3, len(top)), (part > 0) * 10 + rng.integers(0, 2, len(top))]
    terms = [term(name, each) for name, each in zip("ab", labels, strict=True)]
    for chosen in ([terms[0]], [terms[1]], terms):
        expected = joined_by_hand(top, chosen)
        found = _components(top, n_blocks, chosen)
        assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == len(set(expected.tolist()))
        assert found.max() + 1 == len(set(expected.tolist()))
    for each in terms:
        looked_at_all = len(top) <= 4 * max(n_blocks, each.n_levels)
        if looked_at_all and _all_joined(top, n_blocks, each):
            assert not joined_by_hand(top, [each]).any()


def test_few_steps_reach_what_is_three_levels_away():
    """Blocks in a chain, each joined to the next by a level of its own: three steps lead to the fourth block."""
    for n_blocks, reached in ((2, True), (4, True), (5, False)):
        top = np.concatenate([[0], np.repeat(np.arange(n_blocks), 2)])
        link = np.concatenate([[0], np.arange(2 * n_blocks) // 2 + np.arange(2 * n_blocks) % 2])
        assert _all_joined(top, n_blocks, term("link", link)) == reached
        assert _components(top, n_blocks, [term("link", link)]).max() == 0
    assert not _all_joined(np.array([0, 1]), 2, term("apart", [0, 1]))


def test_ranks_within_owners_count_from_0_in_order():
    owner = np.array([2, 0, 2, 2, 0, 3])
    assert within_owner(owner, 5).tolist() == [0, 0, 1, 2, 1, 0]


def test_a_stage_for_cells_is_for_a_plain_intercept_with_a_level_in_each():
    item, model = np.repeat(np.arange(8), 4), np.tile(np.arange(4), 8)
    cell = np.arange(32)
    twice = np.where(cell == 31, 30, cell)
    for labels, columns, found in ((cell, (), 1), (twice, (), None), (cell, (("x", model + 0.5),), None)):
        design = design_of(term("item", item), term("cell", labels, *columns), term("model", model))
        assert plan_elimination(design).cell_term == found
