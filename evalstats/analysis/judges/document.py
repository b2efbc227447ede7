"""What is said of judges: whether they agree with people as people do, whom they favour, and what corrected scores are."""

from collections.abc import Sequence
from typing import Any

from evalstats.analysis.judges.result import (
    Bias,
    BiasCheck,
    JudgeReport,
    JudgeRow,
    PeopleAgreement,
    Standing,
)
from evalstats.analysis.result import Estimate, columns, level
from evalstats.document.model import (
    Block,
    Column,
    Document,
    Figure,
    Items,
    Section,
    Table,
    Text,
    Tone,
    Value,
    drawn_interval,
    listed,
)
from evalstats.document.names import named
from evalstats.document.numbers import interval_words, number, p_words
from evalstats.errors import Option
from evalstats.grammar import and_list, plural

_TONES: dict[Standing, Tone] = {
    "as people": "good",
    "above people": "good",
    "below people": "bad",
    "open": "caution",
    "no second person": "neutral",
}
_SIDES = ("← as by chance", "full agreement: 1 →")
_LABELS: dict[Standing, str] = {
    "as people": "agrees like people",
    "above people": "agrees more than people",
    "below people": "agrees less than people",
    "open": "not settled",
    "no second person": "measured",
}
_AGREEMENT_REFERENCES = ("Krippendorff 2019, Content Analysis, 4th ed.", "Gwet 2008, doi:10.1348/000711006X126600")


def _references(*sources: str) -> Section:
    return Section(id="references", heading="References", blocks=(Items(items=sources),))


_REFERENCES = _references(
    *_AGREEMENT_REFERENCES,
    "Rogan & Gladen 1978, doi:10.1093/oxfordjournals.aje.a112510",
    "Angelopoulos, Duchi & Zrnic 2023, arXiv:2311.01453",
)
_SURE = 0.05
_SHOWN = 20
_DRAWN = 3  # so many models make a figure of corrected scores
_PLACE = (
    "Place: over pairs that were judged in both orders, where either answer stands first once; else at fixed strengths of "
    "models. Intervals are over questions."
)
_LENGTH = (
    "Length: a logit of the preference on the doublings of length, among pairs with the same verdict of people. Without "
    "people it is at fixed strengths of models, and an association: longer answers may be better."
)
_FAMILY = (
    "Own family: the judge's preference for models of its own family minus people's, on the same pairs or "
    "answers; families are inferred from names."
)
_HOW = (_PLACE, _LENGTH, _FAMILY)
_CHECKS: dict[Bias, str] = {
    "place": "Verdicts for the first place",
    "inconsistent": "Pairs whose verdict changes with the order",
    "length": "Twice as long",
    "own family": "Own family",
}


def document(result: JudgeReport) -> Document:
    """Return what is said of judges."""
    if not result.rows:
        return _without_people(result) if result.people is None else _people_alone(result, result.people)
    best = result.rows[0]
    # The best judge, if its errors favour one model.
    favours = best if best.favours_p is not None and best.favours_p < _SURE else None
    tone: Tone = "bad" if favours else _TONES[best.standing]
    known = "no interval" if best.ends is None else f"{level(result)} CI {_ends(best)}"
    # How far the judge stands from people on what both it and two people rated.
    apart, beside = best.difference, ""
    if apart is not None and apart.estimate is not None:
        beside = f"difference {number(apart.estimate, 2, sign=True)} ({_ends(apart)})"
        if best.n_double != best.n_units:
            # Where the judge's own number rests on more, the two numbers shown do not differ by this.
            beside = f"{beside} on the {best.n_double:,} {result.unit}s that two people rated"
    people = None if result.people is None else result.people.estimate
    among = "" if people is None else f"{result.truth} among themselves {number(people, 2)}"
    who = plural(best.n_people, "person", "people") if result.truth == "people" else result.truth
    two = f", {best.n_double:,} of them by two people" if 0 < best.n_double < best.n_units else ""
    units = f"{plural(best.n_units, result.unit)} that it and {who} rated{two}"
    clusters = f", in clusters by {and_list(result.clusters)}" if result.clusters else ""
    also = " and people" if result.truth == "people" else ""
    what = " in ".join(part for part in (result.criterion, result.benchmark) if part)
    judge = named(best.name) if len(result.rows) == 1 else f"any of {len(result.rows)} judges"
    # Of several judges the number has an owner.
    who_of = [named(best.name)] if len(result.rows) > 1 else []
    makers = (_errors, _models, _corrected, biases_section, _confusion, _spread)
    return Document(
        kind="judges",
        title=f"Can {judge} stand in for {result.truth}{f' on {what}' if what else ''}?",
        label="favours a model" if favours else _LABELS[best.standing],
        tone=tone,
        headline=_headline(result, favours),
        number=f"Alpha {number(best.estimate, 2)}",
        number_words=", ".join(filter(None, (*who_of, known, among, beside))),
        interval=drawn_interval(
            best.estimate, best.ends, digits=2, origin=0.0, sides=_SIDES, conf_level=result.conf_level
        ),
        scope=f"For {result.unit}s{also} like these: {units}{clusters}",
        answer=(_figure(result), *_lean(result), *_labels(result)),
        notes=result.notes,
        actions=tuple(_actions(result, favours)),
        evidence=tuple(section for make in makers if (section := make(result)) is not None),
        method=(
            _method(result),
            _REFERENCES,
            *([bias_method()] if result.biases else []),
            result.origin.section(),
        ),
    )


def _people_alone(result: JudgeReport, people: PeopleAgreement) -> Document:
    """Return what can be said of people whom no judge is held against."""
    what = " in ".join(part for part in (result.criterion, result.benchmark) if part)
    rows = [*people.persons, people]
    every = result.truth if result.truth == "people" else "all"
    names = [*(f"{row.name} with the others" for row in people.persons), f"{every} among themselves"]
    units = f"{result.unit.capitalize()}s"
    table = Table(
        id="people",
        columns=(
            Column(title="Who", kind="name"),
            Column(title="Alpha", kind="number", digits=2),
            Column(title=f"{level(result)} CI", kind="interval", digits=2),
            Column(title="Same rating", kind="amount"),
            Column(title="AC1", kind="number", digits=2, spare=True),
            Column(title=units, kind="count", spare=True),
        ),
        rows=(
            *(
                (name, row.estimate, row.ends, None, None, row.n_units)
                for name, row in zip(names, people.persons, strict=False)
            ),
            (names[-1], people.estimate, people.ends, _percent(people.raw), people.ac1.estimate, people.n_units),
        ),
        caption=f"Agreement of {result.truth} with one another",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )
    figure = Figure(
        id="agreement",
        plot="forest",
        rows={"label": names, **_estimates(rows)},
        options={"title": f"Krippendorff's alpha, {result.scale}, {level(result)} interval", "reference": None},
        alt=f"Agreement beyond chance of {result.truth} among themselves: {number(people.estimate, 2)}.",
        caption="Agreement beyond chance; 0 is chance, 1 is perfect",
        table=table,
    )
    items = [f"Agreement: {people.method}."]
    if people.reason:
        items.append(f"No interval: {people.reason}.")
    clusters = f", in clusters by {and_list(result.clusters)}" if result.clusters else ""
    whose = "two of " + (plural(people.n_people, "person", "people") if result.truth == "people" else result.truth)
    if people.n_people == 2:
        whose = f"both {result.truth}"
    action = "Have a judge rate the same answers, to compare its agreement with people."
    if result.truth != "people":
        action = f"If one of them is the truth, hold the others against it: {named(Option('humans', blank='NAME'))}."
    return Document(
        kind="judges",
        title=f"How far do {result.truth} agree with one another{f' on {what}' if what else ''}?",
        label="measured",
        tone="neutral",
        headline=f"Two ratings by {result.truth} are the same on {_percent(people.raw)} of {result.unit}s",
        number=f"Alpha {number(people.estimate, 2)}",
        number_words="no interval" if people.ends is None else f"{level(result)} CI {_ends(people)}",
        interval=drawn_interval(
            people.estimate, people.ends, digits=2, origin=0.0, sides=_SIDES, conf_level=result.conf_level
        ),
        scope=f"{plural(people.n_units, result.unit)} that {whose} rated{clusters}",
        answer=(figure,),
        notes=result.notes,
        actions=(action,),
        method=(
            listed("method", "How ratings were compared", items),
            _references(*_AGREEMENT_REFERENCES),
            result.origin.section(),
        ),
    )


def _without_people(result: JudgeReport) -> Document:
    """Return what is said of judges of pairs whom nobody is there to agree with."""
    names = list(dict.fromkeys(row.judge for row in result.biases))
    who = and_list(names) if names else "the judge"
    section = biases_section(result)
    return Document(
        kind="judges",
        title=f"What do the verdicts of {who} go by?",
        label="not measured",
        tone="caution",
        headline="No person judged these pairs, so nobody knows whether the judge agrees with people",
        number="",
        number_words="",
        scope=f"{result.n_ratings:,} verdicts on {plural(result.n_units, 'pair')}",
        answer=() if section is None else tuple(block for block in section.blocks if isinstance(block, Table))[:1],
        notes=result.notes,
        actions=("Have people judge some of the pairs, and give their votes beside the judge's.",),
        evidence=() if section is None else (Section(id="biases", heading=section.heading, blocks=section.blocks[1:]),),
        method=(bias_method(), result.origin.section()),
    )


def _lean(result: JudgeReport) -> tuple[Text, ...]:
    """Say how far the best judge rates above or below people, where that is more than chance: agreement may hide it."""
    bias = result.rows[0].bias
    # Of a pair, whichever model is first by name has no side to lean to.
    if bias is None or bias.estimate is None or not bias.excludes_zero or result.unit == "pair":
        return ()
    way, who = "higher" if bias.estimate > 0 else "lower", named(result.rows[0].name)
    low, high = sorted((abs(bias.conf_low or 0.0), abs(bias.conf_high or 0.0)))
    known = f"{level(result)} CI {interval_words(low, high, 1.0, 2)}"
    return (Text(text=f"{who} rates {number(abs(bias.estimate), 2)} {way} than {result.truth} on average ({known})."),)


def _labels(result: JudgeReport) -> tuple[Text, ...]:
    """Say how many labels to buy."""
    plan = result.label_plan
    if plan is None:
        return ()
    percent = result.rows[0].sensitivity is not None
    amount = plan.half_width if plan.margin is None else plan.margin
    size = f"{number(100 * (amount or 0.0), 1)} pp" if percent else number(amount, 2)
    what = (
        f"give a model's score to ±{size}" if plan.margin is None else f"detect a difference of {size} with 80% power"
    )
    whose = "per model" if plan.margin is None else "of the same items for both models"
    if plan.n is None:
        found = f"Even labels of all {plan.n_items:,} items would not {what}"
        return (Text(text=f"{found}; labels alone would need {plan.alone:,}."),)
    span = ""
    if plan.high is None or plan.low is None or plan.high > 1.1 * plan.low:
        high = f"{plan.high:,}" if plan.high is not None else f"more than {plan.n_items:,}"
        known = f"given the uncertainty of the judge's correlation, {number(plan.correlation, 2)}"
        span = f" ({plan.low or plan.n:,} to {high}, {known})"
    return (Text(text=f"{plan.n:,} labels {whose} would {what}{span}; labels alone would need {plan.alone:,}."),)


# --- the answer ---


def _headline(result: JudgeReport, favours: JudgeRow | None) -> str:
    best, who = result.rows[0], named(result.rows[0].name)
    if favours is not None:
        who = named(favours.name)
        own = [row for row in result.by_model if row.judge == favours.name and row.estimate is not None]
        most = max(own, key=lambda row: row.estimate or 0.0, default=None)
        return f"Not to compare models: {who} favours {named(most.name)}" if most else f"{who} errs by model"
    whose = result.truth
    match best.standing:
        case "as people":
            return f"{who} agrees with {whose} about as well as {whose} agree among themselves"
        case "above people":
            return f"{who} agrees with {whose} better than {whose} agree among themselves"
        case "below people":
            return f"Not fully: {who} agrees with {whose} less than {whose} agree among themselves"
        case "open" if best.estimate == 1.0:
            return f"{who} and {whose} agree on every {result.unit}, and no interval follows from that"
        case "open":
            chance = best.conf_low is not None and best.conf_low <= 0
            beyond = "beyond chance" if chance else f"as well as {whose} agree among themselves"
            return f"{who} is not shown to agree with {whose} {beyond}"
        case "no second person":
            what = "verdict" if result.unit == "pair" else "rating"
            return f"{who} gives {whose}'s {what} on {_percent(best.raw)} of {result.unit}s"


def _percent(found: Estimate) -> str:
    return f"{number(100 * found.estimate, 1)}%" if found.estimate is not None else "–"


def _ends(found: Estimate, scale: float = 1.0, digits: int = 2) -> str:
    return "no interval" if found.ends is None else interval_words(found.conf_low, found.conf_high, scale, digits)


def _figure(result: JudgeReport) -> Figure:
    rows: list[tuple[str, Estimate, str]] = [(row.name, row, _TONES[row.standing]) for row in result.rows[:_SHOWN]]
    if result.people is not None:
        rows.append((f"{result.truth} among themselves", result.people, "plain"))
    told = [f"{name} {number(each.estimate, 2)}" for name, each, _ in rows]
    return Figure(
        id="agreement",
        plot="forest",
        rows={
            "label": [name for name, _, _ in rows],
            "tone": [tone for _, _, tone in rows],
            **_estimates([each for _, each, _ in rows]),
        },
        options={"title": f"Krippendorff's alpha, {result.scale}, {level(result)} interval", "reference": None},
        alt=f"Agreement beyond chance: {', '.join(told)}.",
        caption=f"Agreement beyond chance with single people{_first_of(result.rows)}; 0 is chance, 1 is perfect",
        table=_judges_table(result),
    )


def _estimates(rows: Sequence[Estimate], *, sign: bool = False) -> dict[str, list[Any]]:
    """Return the columns of estimates in a forest plot."""
    words = [f"{number(row.estimate, 2, sign=sign)} ({_ends(row)})" for row in rows]
    return {**columns(rows, "estimate", "conf_low", "conf_high"), "words": words}


def _first_of(rows: Sequence[object]) -> str:
    return f", the first {_SHOWN} of {len(rows):,}" if len(rows) > _SHOWN else ""


def _judges_table(result: JudgeReport) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            row.name,
            row.estimate,
            row.ends,
            _percent(row.raw),
            row.kappa.estimate,
            row.ac1.estimate,
            None if row.icc is None else row.icc.estimate,
            None if row.difference is None else row.difference.estimate,
            None if row.difference is None else row.difference.ends,
            row.n_units,
            row.n_double or None,
        )
        for row in result.rows
    ]
    people = result.people
    one_set = people is None or all(row.n_units == people.n_units for row in result.rows)
    if people is not None:
        among = (f"{result.truth} among themselves", people.estimate, people.ends, _percent(people.raw))
        rows.append((*among, None, people.ac1.estimate, None, None, None, people.n_units, people.n_units))
    return Table(
        id="judges",
        columns=(
            Column(title="Judge", kind="name"),
            Column(title="Alpha", kind="number", digits=2),
            Column(title=f"{level(result)} CI", kind="interval", digits=2),
            Column(title="Same rating", kind="amount"),
            Column(title="Kappa", kind="number", digits=2, spare=True),
            Column(title="AC1", kind="number", digits=2, spare=True),
            Column(title="ICC", kind="number", digits=2, spare=True),
            Column(title="Minus people", kind="number", digits=2, sign=True, spare=True),
            Column(title=f"{level(result)} CI of it", kind="interval", digits=2, spare=True),
            # Numbers that rest on unlike answers stand beside how many those are.
            Column(title=f"{result.unit.capitalize()}s", kind="count", spare=one_set),
            Column(title="By two people", kind="count", spare=True),
        ),
        rows=tuple(rows),
        caption=f"Agreement with {result.truth}: alpha beyond chance, and how often the rating is the same; minus people: on "
        f"{result.unit}s that two people rated",
        most=_SHOWN,
        frame=result.to_frame().to_dict(as_series=False),
    )


def _actions(result: JudgeReport, favours: JudgeRow | None) -> list[str]:
    best = result.rows[0]
    found: list[str] = []
    if favours is not None and result.corrected:
        found.append("Use the corrected scores below for comparisons between models.")
    elif favours is not None:
        found.append("Label a random part of every model's answers, so that scores can be corrected.")
    if best.standing == "below people":
        found.append(
            f"Give the judge cases on which it and {result.truth} differ, or another rubric, and measure again."
        )
    if best.standing == "no second person" and result.truth == "people":
        found.append("Have a second person rate some answers: without, the highest possible agreement is unknown.")
    if best.standing == "open" and best.estimate != 1.0:
        found.append("More answers rated by two people would settle it.")
    return found


# --- evidence ---


def _errors(result: JudgeReport) -> Section | None:
    """Tell how judges err on average, where ratings are numbers."""
    known = [row for row in result.rows if row.bias is not None]
    if not known or result.unit == "pair":  # of a pair, whichever model is first by name has no side to lean to
        return None
    best = known[0]
    bias = best.bias
    if bias is None or bias.estimate is None:
        return None
    sure = bias.conf_low is not None and bias.conf_high is not None and bias.conf_low * bias.conf_high > 0
    way = "too high" if bias.estimate > 0 else "too low"
    does = f"rates {number(abs(bias.estimate), 2)} {way}" if sure else "is not shown to lean to one side"
    head = f"{named(best.name)} {does}"
    table = Table(
        id="errors",
        columns=(
            Column(title="Judge", kind="name"),
            Column(title=f"Judge minus {result.truth}", kind="number", digits=2, sign=True),
            Column(title=f"{level(result)} CI", kind="interval", digits=2),
            Column(title="Yes where people say yes", kind="amount"),
            Column(title="No where people say no", kind="amount"),
        ),
        rows=tuple(
            (row.name, row.bias.estimate, row.bias.ends, _with_ends(row.sensitivity), _with_ends(row.specificity))
            for row in known
            if row.bias is not None
        ),
        caption="How judges err on answers that people rated",
    )
    return Section(id="errors", heading=head, blocks=(table,))


def _with_ends(found: Estimate | None) -> str | None:
    return None if found is None else f"{_percent(found)} ({_ends(found, 100, 0)})"


def _models(result: JudgeReport) -> Section | None:
    best = result.rows[0]
    own = sorted((row for row in result.by_model if row.judge == best.name), key=lambda row: -(row.estimate or 0.0))
    if len(own) < 2:
        return None
    favours = best.favours_p is not None and best.favours_p < _SURE
    who = named(best.name)
    head = f"{who} favours {named(own[0].name)}" if favours else f"{who} is not shown to favour any model"
    test = "t tests, Bonferroni" if result.unit == "pair" else "Welch's test"
    tested = "" if best.favours_p is None else f"Equal errors for all models: {p_words(best.favours_p)} ({test})."
    rows = [row for row in result.by_model if row.estimate is not None]
    told = [f"{row.name} {number(row.estimate, 2, sign=True)}" for row in own[:_SHOWN]]
    figure = Figure(
        id="by-model",
        plot="forest",
        rows={"label": [row.name for row in own[:_SHOWN]], **_estimates(own[:_SHOWN], sign=True)},
        options={
            "title": f"Judge minus {result.truth}",
            "sides": ("← too strict", "too kind →"),
            "side_tones": ("bad", "bad"),
        },
        alt=f"Judge minus {result.truth} by model: {', '.join(told)}.",
        caption=f"How far {who} rates each model above or below {result.truth}{_first_of(own)}",
        table=Table(
            id="by-model",
            columns=(
                Column(title="Judge", kind="name"),
                Column(title="Model", kind="name"),
                Column(title=f"Judge minus {result.truth}", kind="number", digits=2, sign=True),
                Column(title=f"{level(result)} CI", kind="interval", digits=2),
                Column(title=f"{result.unit.capitalize()}s", kind="count"),
            ),
            rows=tuple((row.judge, row.name, row.estimate, row.ends, row.n_units) for row in rows),
            caption="Each judge's error by model",
            most=_SHOWN,
        ),
    )
    blocks: tuple[Block, ...] = (figure, *([Text(text=tested)] if tested else []))
    return Section(id="by-model", heading=head, blocks=blocks, news=favours)


def _corrected(result: JudgeReport) -> Section | None:
    own = [row for row in result.corrected if row.judge == result.rows[0].name]
    if not own:
        return None
    moved = max(own, key=lambda row: abs((row.estimate or 0.0) - row.judge_mean))
    scores = f"{number(moved.estimate, 2)} instead of {number(moved.judge_mean, 2)}"
    head = f"Corrected by people's labels, {moved.name} scores {scores}"
    table = Table(
        id="corrected",
        columns=(
            Column(title="Model", kind="name"),
            Column(title="Judge", kind="number", digits=2),
            Column(title="Corrected", kind="number", digits=2),
            Column(title=f"{level(result)} CI", kind="interval", digits=2),
            Column(title="Labels alone", kind="number", digits=2, spare=True),
            Column(title="By its error rates", kind="number", digits=2, spare=True),
            Column(title="Labels", kind="count"),
            Column(title="Worth", kind="number", digits=0, spare=True),
        ),
        rows=tuple(
            (
                row.name,
                row.judge_mean,
                row.estimate,
                row.ends,
                row.by_labels.estimate,
                None if row.by_errors is None else row.by_errors.estimate,
                row.n_labels,
                row.label_worth,
            )
            for row in own
        ),
        caption="Scores by the judge, corrected by labels of a part; worth: the labels alone that would be as precise",
        most=_SHOWN,
        frame=columns(
            result.corrected,
            *("judge", "name", "judge_mean", "estimate", "std_error", "conf_low"),
            *("conf_high", "method", "n_labels", "n_judged", "tuning", "label_worth"),
        ),
    )
    if len(own) < _DRAWN:
        return Section(id="corrected", heading=head, blocks=(table,))
    shown = columns(own, "name", "judge_mean", "estimate", "conf_low", "conf_high").values()
    figure = Figure(
        id="corrected",
        plot="scatter",
        rows=dict(zip(("model", "x", "y", "y_low", "y_high"), shown, strict=True)),
        options={
            "identity": f"judge as {result.truth}",
            "x_title": f"Score by {own[0].judge}",
            "y_title": f"Score corrected by {result.truth}'s labels",
        },
        alt=f"Scores of {len(own)} models by the judge and corrected; {moved.name} moves most: {scores}.",
        caption=f"Scores by the judge, and corrected by labels of a part with {level(result)} intervals: below the line "
        "the judge is too kind",
        table=table,
    )
    return Section(id="corrected", heading=head, blocks=(figure,))


def _confusion(result: JudgeReport) -> Section | None:
    best = result.rows[0]
    if not best.confusion:
        return None
    off = {
        (best.levels[i], best.levels[j]): n
        for i, row in enumerate(best.confusion)
        for j, n in enumerate(row)
        if i != j and n
    }
    if not off:
        return None
    (people, judge), n = max(off.items(), key=lambda each: each[1])
    who = "people say" if result.truth == "people" else f"{result.truth} says"
    head = (
        f"The commonest disagreement: {who} {people}, {named(best.name)} says {judge} ({n:,} of {sum(off.values()):,})"
    )
    table = Table(
        id="confusion",
        columns=(
            Column(title=result.truth),
            *(Column(title=f"{best.name}: {rating}", kind="count") for rating in best.levels),
        ),
        rows=tuple((rating, *row) for rating, row in zip(best.levels, best.confusion, strict=True)),
        caption="How often each pair of ratings was given",
    )
    cells = [
        (f"{result.truth}: {best.levels[i]}", f"{best.name}: {best.levels[j]}", n, "good" if i == j else "bad")
        for i, row in enumerate(best.confusion)
        for j, n in enumerate(row)
    ]
    names = (result.truth, "judge", "estimate", "tone")
    rows = {name: [cell[place] for cell in cells] for place, name in enumerate(names)}
    figure = Figure(
        id="confusion",
        plot="heatmap",
        rows=rows | {"words": [f"{n:,}" for _, _, n, _ in cells]},
        options={"row": result.truth, "column": "judge"},
        alt=f"How often {best.name} gives each rating where {result.truth} give each; {sum(off.values()):,} differ.",
        caption=f"How often each pair of ratings was given: on the diagonal {named(best.name)} and {result.truth} agree",
        table=table,
    )
    return Section(id="confusion", heading=head, blocks=(figure,))


def _spread(result: JudgeReport) -> Section | None:
    """Warn of the kappa paradox: raters nearly always agree, and alpha is low since one rating is so common."""
    best = result.rows[0]
    if best.estimate is None or best.ac1.estimate is None or best.ac1.estimate - best.estimate < 0.2:
        return None
    text = (
        f"{named(best.name)} and {result.truth} give the same rating {_percent(best.raw)} of the time, yet alpha is "
        f"{number(best.estimate, 2)}: nearly all fall into one category. Gwet's AC1, which does not suffer, is "
        f"{number(best.ac1.estimate, 2)} ({_ends(best.ac1)})."
    )
    return Section(id="prevalence", heading="One rating is so common that alpha is low", blocks=(Text(text=text),))


def _method(result: JudgeReport) -> Section:
    best = result.rows[0]
    items = [
        f"Agreement: {best.method}. It is with single people, as are kappa and AC1; with the mean of several it would be higher.",
        *([f"The judge minus people: {best.difference.method}."] if best.difference and best.difference.method else []),
        *(
            ["Yes and no: against the rating that most people gave; tied answers are dropped."]
            if best.sensitivity
            else []
        ),
    ]
    missing = (
        ("", best),
        (" of the judge minus people", best.difference),
        (f" of {result.truth} among themselves", result.people),
    )
    items += [
        f"No {'value' if found.estimate is None else 'interval'}{of}: {found.reason}."
        for of, found in missing
        if found is not None and found.reason
    ]
    if result.corrected:
        items.append(
            "Corrected scores: prediction-powered means. They hold if the labelled answers are a random part of each model's, or "
            "the probability with which each was drawn is given."
        )
    if any(row.by_errors is not None for row in result.corrected):
        items.append(
            "By its error rates: Rogan and Gladen's correction with the judge's sensitivity and specificity for that model."
        )
    return listed("method", "How judges were compared with people", items)


# --- what judges go by besides the answers ---


def biases_section(result: JudgeReport) -> Section | None:
    """Show what judges go by besides the answers: place, length, family; and what could not be checked."""
    if not result.biases and not result.not_checked:
        return None
    blocks: list[Block] = []
    if result.biases:
        blocks.append(
            Table(
                id="biases",
                columns=(
                    Column(title="Judge", kind="name"),
                    Column(title="Influence", kind="text"),
                    Column(title="Found", kind="amount"),
                    Column(title=f"{level(result)} CI", kind="amount"),
                    Column(title="None", kind="amount", spare=True),
                    Column(title=f"{result.unit.capitalize()}s", kind="count", spare=True),
                ),
                rows=tuple(
                    (
                        row.judge,
                        f"Own family ({row.family})" if row.check == "own family" else _CHECKS[row.check],
                        *_amounts(row, result),
                        row.n_units,
                    )
                    for row in result.biases
                ),
                caption=_caption(result),
                most=_SHOWN,
                frame=columns(
                    result.biases,
                    *("judge", "check", "estimate", "conf_low", "conf_high"),
                    *("p_value", "n_units", "null", "association", "method"),
                ),
            )
        )
    if result.by_place:
        blocks.append(
            Table(
                id="by-place",
                columns=(
                    Column(title="Judge", kind="name"),
                    Column(title="Model", kind="name"),
                    Column(title="Shown first (%)", kind="number", scale=100),
                    Column(title="Shown second (%)", kind="number", scale=100),
                    Column(title="Turning pairs as ties (%)", kind="number", scale=100),
                    Column(title="Pairs", kind="count", spare=True),
                ),
                rows=tuple(
                    (row.judge, row.name, row.when_first, row.when_second, row.tied, row.n_pairs)
                    for row in result.by_place
                ),
                caption=(
                    "How often a model is preferred by its place, and with pairs whose verdict changes with "
                    "the order as ties"
                ),
                most=_SHOWN,
            )
        )
    if result.not_checked:
        blocks.append(Items(items=tuple(f"Not checked: {reason}." for reason in result.not_checked)))
    return Section(id="biases", heading=_bias_heading(result), blocks=tuple(blocks), news=bool(result.biases))


def _caption(result: JudgeReport) -> str:
    fixed = [row for row in result.biases if row.check == "length"]
    if not fixed:
        return "Influences on judges besides the answers"
    held = "models of equal strength" if fixed[0].association else "the same verdict of people"
    if fixed[0].null == 0.0:
        return "Influences on judges besides the answers; twice as long: points above people"
    return f"Influences on judges besides the answers; twice as long: odds of being preferred, at {held}"


def _amounts(row: BiasCheck, result: JudgeReport) -> tuple[str, str, str]:
    """Return what was found, its interval, and what there would be without a bias."""
    if row.check in ("place", "inconsistent"):
        return _percent(row), _ends(row, 100, 1), "" if row.null is None else "50%"
    if row.check == "length" and row.null == 1.0:
        return f"odds × {number(row.estimate, 2)}", _ends(row), "odds × 1"
    scale = 100.0 if result.rows and result.rows[0].sensitivity is not None else 1.0
    digits, unit = (1, " pp") if scale > 1 else (2, "")
    value = None if row.estimate is None else row.estimate * scale
    return f"{number(value, digits, sign=True)}{unit}", _ends(row, scale, digits), "0"


def _bias_heading(result: JudgeReport) -> str:
    judge = result.rows[0].name if result.rows else next((row.judge for row in result.biases), "")
    own = [row for row in result.biases if row.judge == judge and row.check != "inconsistent"]
    if not own:
        return "Place, length and family could not be checked"
    shown = list(dict.fromkeys(row.check for row in own if row.shown))
    if not shown:
        return f"{judge} is not shown to depend on {' or '.join(dict.fromkeys(row.check for row in own))}"
    return f"Verdicts of {judge} go with {and_list(shown)}"


def bias_method() -> Section:
    """Say how place, length and family were checked."""
    return listed("bias-method", "How place, length and family were checked", _HOW)
