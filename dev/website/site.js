// Search, the choice of theme, and the keyboard's way into what scrolls; everything else on the site works without this.
"use strict";
(() => {
  const up = document.currentScript.dataset.up;
  const root = document.documentElement;
  const keep = (value) => { try { localStorage.setItem("theme", value); } catch { /* private windows keep nothing */ } };
  const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };

  const button = document.querySelector(".theme");
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const show = () => { button.textContent = dark() ? "Light" : "Dark"; };
  if (kept()) root.dataset.theme = kept();
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; keep(root.dataset.theme); show(); });
  show();

  // What scrolls sideways on this screen can be scrolled by the keyboard.
  const wide = document.querySelectorAll("main :is(pre, .output, p:has(> math[display=block]), table:not(.es-table table)):not([tabindex])");
  const reach = () => wide.forEach((each) => each.scrollWidth > each.clientWidth ? (each.tabIndex = 0) : each.removeAttribute("tabindex"));
  addEventListener("resize", reach);
  reach();

  const box = document.querySelector(".find");
  const field = box.querySelector("input");
  const list = box.querySelector("ul");
  let rows;
  box.hidden = false;
  window.esSearch = (found) => {
    rows = found.map((row) => ({ ...row, own: (row.section || row.title).toLowerCase(), where: `${row.title} ${row.section}`.toLowerCase(), all: `${row.title} ${row.section} ${row.text}`.toLowerCase() }));
    look();
  };
  // A script rather than a request: pages opened from a folder may not ask for files.
  field.addEventListener("focus", () => {
    if (rows) return;
    const script = document.createElement("script");
    script.src = `${up}search.js`;
    document.head.append(script);
  }, { once: true });
  const look = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    list.replaceChildren();
    if (!rows || !words.length) return;
    const found = rows.filter((row) => words.every((word) => row.all.includes(word)));
    // A heading's own words first, and pages before the parts of others.
    const weight = (row) => words.filter((word) => row.where.includes(word)).length
      + 2 * words.filter((word) => row.own.includes(word)).length + row.own.startsWith(words.join(" "));
    found.sort((a, b) => weight(b) - weight(a)).slice(0, 12).forEach((row) => {
      const item = document.createElement("li");
      const link = document.createElement("a");
      const more = document.createElement("small");
      link.href = up + row.href;
      link.textContent = row.section ? `${row.title}: ${row.section}` : row.title;
      more.textContent = row.text.slice(0, 90);
      link.append(more);
      item.append(link);
      list.append(item);
    });
    if (!found.length) list.append(Object.assign(document.createElement("li"), { textContent: "Nothing found." }));
  };
  field.addEventListener("input", look);
  field.addEventListener("keydown", (event) => { if (event.key === "Escape") { field.value = ""; look(); } });
})();
