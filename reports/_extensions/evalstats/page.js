// All is readable without this. Text from data is only read and set as text.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, own) => Object.assign(document.createElement(tag), own);
const on = (element, types, act) => types.split(" ").forEach((type) => element.addEventListener(type, act));
const button = (className, textContent, onclick) => make("button", { type: "button", className, textContent, onclick });
const wrap = (element, made) => (made.append(...element.childNodes), element.append(made), made);
const arrows = (root, selector) => on(root, "keydown", (event) => {
  const items = all(selector, root);
  const next = items[items.indexOf(event.target) + { ArrowDown: 1, ArrowUp: -1 }[event.key]];
  if (next) event.preventDefault(), next.focus();
});

// As we write numbers: true minus, commas; an interval goes by its lower end.
const amount = (text) => +(text.replace(/−/g, "-").replace(/,(?=\d{3})/g, "").match(/-?\d*\.?\d+(e[-+]?\d+)?/i) ?? [NaN])[0];
for (const region of all(".es-table")) {
  const rows = all("tbody tr", region), heads = all("thead th", region);
  const tools = make("div", { className: "es-tools" }), told = make("span", { role: "status" });
  const field = make("input", { type: "search", placeholder: "Filter rows", ariaLabel: "Filter " + region.ariaLabel });
  let order = rows, most = rows.filter((row) => !row.hidden).length;
  const arrange = () => {
    const query = field.value.trim().toLowerCase();
    let n = 0;
    for (const row of order) {
      const fits = row.textContent.toLowerCase().includes(query);
      n += fits;
      row.hidden = !fits || (!query && n > most);
    }
    rows[0].parentNode.append(...order);
    told.textContent = query && n + " of " + rows.length;
  };
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
      order = way ? [...rows].sort((a, b) => after(key(a), key(b))) : rows;
      arrange();
    }));
  });
  if (rows.length > 12) tools.append(field, told), region.before(tools);
  field.oninput = arrange;
  if (most < rows.length) tools.append(button("es-act", "Show all " + rows.length, ({ target }) => {
    most = rows.length;
    target.remove();
    arrange();
  }));
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
  Object.assign(spot, { role, tabIndex: -1, ariaLabel: title.textContent });
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
  if (svg.querySelector(".es-spot")) Object.assign(svg, { role: "group", tabIndex: 0 });
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
