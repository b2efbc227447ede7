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
    const isNumber = head.matches(".gt_right"), ways = ["ascending", "descending"];
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
const stubs = all(".es-table .gt_stub"), nameOf = (each) => each?.dataset.name;
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
