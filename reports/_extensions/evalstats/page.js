// All is readable without this. Text from data is only read and set as text.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const set = Object.assign, make = (tag, own) => set(document.createElement(tag), own);
const on = (element, types, act) => types.split(" ").forEach((type) => element.addEventListener(type, act));
const button = (className, textContent, onclick) => make("button", { type: "button", className, textContent, onclick });
const wrap = (element, made) => (made.append(...element.childNodes), element.append(made), made);
// Arrows go through a table, figure or tabs.
const arrows = (root, selector, forth = "ArrowDown", back = "ArrowUp") => on(root, "keydown", (event) => {
  const items = all(selector, root), step = { [forth]: 1, [back]: -1 }[event.key];
  const next = step && items.at((items.indexOf(event.target) + step) % items.length);
  if (next) event.preventDefault(), next.focus();
});

// As we write numbers: true minus, commas; an interval goes by its lower end.
const amount = (text) => +(text.replace(/−/g, "-").replace(/,(?=\d{3})/g, "").match(/-?\d*\.?\d+(e[-+]?\d+)?/i) ?? [NaN])[0];
// Of what is long the beginning is shown.
const folding = (rows, before, label, least) => {
  const tools = make("div", { className: "es-tools" }), told = make("span", { role: "status" });
  const field = make("input", { type: "search", placeholder: "Filter", ariaLabel: "Filter " + label });
  let order = rows, most = rows.filter((row) => !row.hidden).length;
  if (rows.length > 20 && most > 15) most = 15, before.closest("figure")?.querySelector(".es-more")?.remove();
  const arrange = (sorted = order) => {
    const query = field.value.trim().toLowerCase();
    let n = 0;
    for (const row of (order = sorted)) {
      const fits = row.textContent.toLowerCase().includes(query);
      n += fits;
      row.hidden = !fits || (!query && n > most);
    }
    rows[0]?.parentNode.append(...order);
    told.textContent = query && n + " of " + rows.length;
  };
  if (rows.length > least) tools.append(field, told), before.before(tools);
  field.oninput = () => arrange();
  if (most < rows.length) tools.append(button("es-act", "Show all " + rows.length, ({ target }) => {
    most = rows.length, target.remove(), arrange();
  }));
  arrange();
  return arrange;
};
all("main ul, main ol").forEach((list) => list.children.length > 20 && folding([...list.children], list, "list", 20));
for (const region of all(".es-table")) {
  const rows = all("tbody tr", region), heads = all("thead th", region);
  const arrange = folding(rows, region, region.ariaLabel, 12);
  if (rows.length > 2) heads.forEach((head, column) => {
    const isNumber = head.matches(".es-right"), ways = ["ascending", "descending"];
    const key = (row) => (isNumber ? amount : String)(row.cells[column].textContent);
    if (isNumber) ways.reverse();
    wrap(head, button("es-sort", "", () => {
      // A third click gives the page's order; what has no number stands last.
      const way = ways[ways.indexOf(head.ariaSort) + 1], sign = way === "ascending" ? 1 : -1;
      heads.forEach((each) => (each.ariaSort = each === head ? way : null));
      const after = isNumber ? (a, b) => isNaN(a) - isNaN(b) || sign * (a - b)
        : (a, b) => sign * a.localeCompare(b, "en", { numeric: true });
      arrange(way ? [...rows].sort((a, b) => after(key(a), key(b))) : rows);
    }));
  });
  arrows(region, "tr:not([hidden]) .es-name");
}

// A name that leads a row or a mark, and stands in two figures or tables, can be followed.
const stubs = all(".es-table tbody th"), nameOf = (each) => each?.dataset.name;
stubs.forEach((cell) => (cell.dataset.name = cell.textContent));
const places = Map.groupBy(all("[data-name]"), nameOf), at = (name) => places.get(name) || [];
const isFollowed = (each) => new Set(at(nameOf(each)).map((own) => own.closest("figure"))).size > 1;
const mark = (look, name) => {
  all("." + look).forEach((each) => each.classList.remove(look));
  at(name).forEach((each) => (each.closest("tr") || each).classList.add(look));
};
let picked = "";
const pick = (name) => mark("es-picked", (picked = name === picked ? "" : name));
for (const cell of stubs.filter(isFollowed)) wrap(cell, button("es-name", "", () => pick(nameOf(cell)))).tabIndex = -1;
for (const spot of all(".es-spot")) {
  const title = spot.firstChild, role = isFollowed(spot) ? "button" : "img";
  set(spot, { role, tabIndex: -1, ariaLabel: title.textContent });
  title.remove(); // a browser would show it beside ours
  if (role === "button") on(spot, "click keydown", ({ key = "Enter" }) => key === "Enter" && pick(nameOf(spot)));
}
const tip = make("div", { className: "es-tip", ariaHidden: "true" });
document.body.append(tip);
const show = (spot) => {
  tip.textContent = spot?.ariaLabel;
  if (!spot) return;
  const { left, top, bottom, width } = spot.getBoundingClientRect(), { offsetWidth, offsetHeight } = tip;
  const x = Math.min(left + spot.dataset.mark * width - offsetWidth / 2, innerWidth - offsetWidth - 24);
  tip.style.translate = Math.max(8, x) + "px " + (top > offsetHeight ? top - offsetHeight : bottom) + "px";
};
on(document, "pointerover focusin", ({ target }) => {
  const near = target.closest("[data-name]");
  mark("es-near", isFollowed(near) && nameOf(near));
  show(target.closest(".es-spot"));
});
on(document, "keydown", ({ key }) => key === "Escape" && (show(), pick("")));

for (const svg of all(".es-figure > svg")) {
  if (svg.querySelector(".es-spot")) set(svg, { role: "group", tabIndex: 0, ariaHidden: null });
  arrows(svg, ".es-spot");
  const figure = svg.closest("figure"), download = figure.closest("[id]").id.slice(4) + ".svg";
  const link = make("a", { textContent: "Drawing (SVG)", href: "#", download });
  link.onclick = () => {
    const copy = svg.cloneNode(true);
    all(".es-spot", copy).forEach((spot) => spot.remove());
    copy.style.fontFamily = "sans-serif";
    // Drawing programs know no variables.
    const text = new XMLSerializer().serializeToString(copy).replace(/var\([^,]*, (#\w+)\)/g, (_, color) => color);
    link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  };
  if (!svg.matches(".es-narrow > svg")) (figure.querySelector(".es-data") ?? figure).append(" ", link);
}
for (const code of all(".es-code")) code.before(button("es-act", "Copy", ({ target }) => {
  getSelection().selectAllChildren(code.firstChild);
  if (document.execCommand("copy")) target.textContent = "Copied";
}));

// Panels stand one below the other; here they are tabs, and the address names one.
for (const tabs of all(".es-tabs")) {
  const panels = [...tabs.children], bar = make("div", { className: "es-bar", role: "tablist", ariaLabel: tabs.ariaLabel });
  const choose = (own) => own && panels.forEach((panel, place) => {
    panel.hidden = panel !== own;
    set(bar.children[place], { ariaSelected: !panel.hidden, tabIndex: -panel.hidden });
  });
  const open = () => choose(panels.find((panel) => "#" + panel.id === location.hash));
  for (const panel of panels) {
    const tab = button("es-tab", panel.ariaLabel, () => choose(panel, history.replaceState(0, "", "#" + panel.id)));
    tab.setAttribute("aria-controls", panel.id);
    panel.role = "tabpanel";
    bar.append(set(tab, { role: "tab" }));
  }
  arrows(bar, "button", "ArrowRight", "ArrowLeft");
  on(bar, "focusin", ({ target }) => target.click());
  tabs.prepend(bar);
  choose(panels[0]), open();
  on(window, "hashchange", open);
}

// The level and the margin of an interval that has a closed form can be moved.
const solve = (holds, inside, outside) => {
  for (let step = 0; step < 60; step++) {
    const middle = (inside + outside) / 2;
    if (holds(middle)) inside = middle; else outside = middle;
  }
  return (inside + outside) / 2;
};
// z with P(|Z| <= z) = level, by the series of the normal law.
const quantile = (level) => solve((z) => {
  let term = z, sum = z;
  for (let k = 3; k < 200; k += 2) sum += term *= z * z / k;
  return sum * Math.sqrt(2 / Math.PI) * Math.exp(-z * z / 2) < level;
}, 0, 7);
// As Python has them: stats/paired/binary.py, stats/unpaired.py, stats/one_sample.py.
const tango = (n, b, c, d) => {
  if (d < 0) return -tango(n, c, b, -d);
  const linear = -b - c + (2 * n - b + c) * d, constant = -c * d * (1 - d);
  const root = Math.sqrt(linear * linear - 8 * n * constant);
  const q = linear <= 0 ? (root - linear) / (4 * n) : -2 * constant / (root + linear);
  const variance = n * (2 * q + d * (1 - d)), distance = b - c - n * d;
  return variance <= 0 ? distance && Math.sign(distance) * Infinity : distance / Math.sqrt(variance);
};
const clip = (value, low, high) => Math.min(Math.max(value, low), high);
const restricted = (x1, n1, x2, n2, d) => {
  const p1 = x1 / n1, p2 = x2 / n2, ratio = n2 / n1, a = 1 + ratio, n = n1 + n2;
  const b = -(1 + ratio + p1 + ratio * p2 + d * (ratio + 2));
  const c = d * d + d * (2 * p1 + ratio + 1) + p1 + ratio * p2, shift = b / (3 * a);
  const v = shift ** 3 - b * c / (6 * a * a) - p1 * d * (1 + d) / (2 * a);
  const u = (v > 0 ? 1 : -1) * Math.sqrt(Math.max(shift ** 2 - c / (3 * a), 0));
  const cosine = u ? clip(v / u ** 3, -1, 1) : 0;
  const first = clip(2 * u * Math.cos((Math.PI + Math.acos(cosine)) / 3) - shift, Math.max(0, d), Math.min(1, 1 + d));
  const second = clip(first - d, 0, 1);
  return (first * (1 - first) / n1 + second * (1 - second) / n2) * n / (n - 1);
};
const interval = {
  "Tango score": (z, n, b, c) => [-solve((d) => tango(n, c, b, d) >= -z, (c - b) / n, 1), solve((d) => tango(n, b, c, d) >= -z, (b - c) / n, 1)],
  "Miettinen-Nurminen score": (z, x1, n1, x2, n2) => {
    const found = x1 / n1 - x2 / n2;
    return [-1, 1].map((side) => solve((d) => (found - d) ** 2 <= z * z * restricted(x1, n1, x2, n2, d), found, side));
  },
  Wilson: (z, x, n) => {
    const p = x / n, shrink = 1 + z * z / n, middle = (p + z * z / (2 * n)) / shrink;
    const reach = z * Math.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2) / shrink;
    return [p ? Math.max(0, middle - reach) : 0, p < 1 ? Math.min(1, middle + reach) : 1];
  },
};
for (const box of all("[data-interval]")) {
  const known = JSON.parse(box.dataset.interval), { method, counts, scale, digits, unit, origin, falling, axis } = known;
  const ends = (level) => interval[method](quantile(level), ...counts);
  const at = (value) => clip(18 + 64 * (value - axis[0]) / (axis[1] - axis[0]), 0, 100) + "%";
  const words = (value, most = digits) => (value < 0 ? "−" : "") + Math.abs(value * scale).toLocaleString("en", { minimumFractionDigits: most, maximumFractionDigits: most || 4 });
  const sized = (text) => text + (unit === "%" ? unit : unit && " " + unit), percent = (level) => +(100 * level).toFixed(4) + "%";
  const place = (name, value) => all(".es-" + name, box).forEach((mark) => {
    for (const key of mark.tagName === "line" ? ["x1", "x2"] : ["x"]) mark.setAttribute(key, at(value));
    if (mark.tagName === "text") mark.textContent = (origin === 0 && value > 0 ? "+" : "") + words(value);
  });
  const told = make("p", { role: "status" }), tools = make("p");
  const slider = (name, value, min, max, written) => {
    const field = make("input", { type: "range", min, max, step: "any" }), label = make("label"), shown = make("span");
    field.defaultValue = value;
    label.append(name, field, shown);
    tools.append(label);
    field.oninput = () => (field.value = (+field.value).toFixed(1), move());
    return () => (shown.textContent = field.ariaValueText = written(+field.value), +field.value);
  };
  // The sliders say it.
  box.querySelector("span:nth-child(2):not(:last-child)")?.remove();
  const asked = 100 * known.level, level = slider("Level", asked, Math.min(80, asked), Math.max(99.9, asked), (value) => percent(value / 100));
  const most = Math.max(2 * known.margin * scale, 10);
  const margin = origin === null ? () => 0 : slider("Margin", known.margin * scale, 0, most, (value) => sized(words(value / scale, 0)));
  const move = () => {
    const chosen = level() / 100, within = margin() / scale, [low, high] = ends(chosen), [least, limit] = ends(2 * chosen - 1);
    place("low", low), place("high", high);
    const range = box.querySelector(".es-range"), band = box.querySelector(".es-margin");
    range.setAttribute("x1", at(low)), range.setAttribute("x2", at(high));
    let said = percent(chosen) + " CI " + words(low) + " to " + sized(words(high));
    if (origin !== null) {
      band.setAttribute("x", at(origin - within)), band.setAttribute("width", parseFloat(at(origin + within)) - parseFloat(at(origin - within)) + "%");
      said += (low > 0 || high < 0 ? ", excludes 0" : ", includes 0");
      const above = least > -within, below = limit < within, fine = falling ? below : above;
      const size = sized(words(within, 0)), loss = "a loss of more than " + size + (fine ? " is excluded" : " is not excluded");
      if (within) said += "; " + (above && below ? "equivalent within " + size : loss) + " (one-sided " + percent(chosen) + ")";
      // What else decides (power, few clusters) no page can compute.
      const way = low > 0 ? !falling : high < 0 && falling;
      said += ". By the interval alone: " + (within && above && below ? "equivalent" : low <= 0 && high >= 0 ? "inconclusive" : way ? "better" : "worse");
    }
    told.textContent = said + ". The verdict above is that at " + percent(known.level) + (known.margin ? " and ±" + sized(words(known.margin, 0)) : "") + ".";
  };
  // Until a slider is moved, and on paper, the drawing is Python's.
  const svg = box.querySelector("svg"), drawn = svg.cloneNode(true);
  const reset = () => {
    all("input", tools).forEach((field) => (field.value = field.defaultValue));
    level(), margin(), told.textContent = "";
    svg.replaceChildren(...drawn.cloneNode(true).childNodes);
  };
  on(window, "beforeprint", reset), reset();
  box.append(tools, told);
}
