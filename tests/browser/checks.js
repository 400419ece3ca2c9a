// What a page is held to; each function returns the problems it finds.

function colour(text) {
  const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
  return { rgb: [r, g, b], a };
}

function luminance(rgb) {
  const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function over(front, back) {
  return back.map((v, i) => front.a * front.rgb[i] + (1 - front.a) * v);
}

function groundOf(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) {
    const layer = colour(getComputedStyle(e).backgroundColor);
    layers.push(layer);
    if (layer.a === 1) break;
  }
  return layers.reverse().reduce((back, layer) => over(layer, back), [255, 255, 255]);
}

function faintTexts() {
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const words = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!words || element.closest("script, style, noscript, :disabled") || !element.checkVisibility()) continue;
    // Numbers on a heat map lie on a cell that is no ancestor; plotly chooses them to contrast.
    if (element.closest(".heatmaplayer")) continue;
    const style = getComputedStyle(element);
    const ground = groundOf(element);
    const ink = over(colour(element.closest("svg") ? style.fill : style.color), ground);
    const [dark, light] = [luminance(ink), luminance(ground)].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) found.add(`${words.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return [...found];
}

function structureProblems() {
  const problems = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const hold = (right, words) => { if (!right) problems.push(words); };
  const says = (element) => (element?.textContent ?? "").trim() !== "";
  hold(document.documentElement.lang === "en", "no language");
  hold(document.title.trim(), "no title");
  for (const tag of ["h1", "main", "header"]) hold(all(tag).length === 1, `must have one ${tag}`);
  for (const nav of all("nav")) hold(nav.ariaLabel, "a navigation without a name");
  let level = 0;
  for (const heading of all("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.tagName[1]);
    hold(own <= level + 1, `heading "${heading.textContent}" skips a level`);
    hold(says(heading), "an empty heading");
    level = own;
  }
  const ids = all("[id]").map((e) => e.id);
  ids.filter((id, i) => ids.indexOf(id) < i).forEach((id) => problems.push(`id ${id} is there twice`));
  for (const name of ["aria-labelledby", "aria-describedby", "for"]) {
    for (const e of all(`[${name}]`)) {
      for (const id of e.getAttribute(name).split(" ")) hold(ids.includes(id), `${name} names no ${id}`);
    }
  }
  for (const table of all("table")) {
    const name = table.caption?.textContent;
    hold(says(table.caption), `a table without a caption: ${table.textContent.trim().slice(0, 40)}`);
    for (const head of table.tHead?.rows[0].cells ?? []) {
      hold(head.scope === "col" && (says(head) || head.ariaHidden), `a column of ${name} without a head`);
    }
    for (const row of table.tBodies[0].rows) {
      hold(row.cells[0].tagName === "TH" && row.cells[0].scope === "row", `a row of ${name} without a head`);
    }
  }
  for (const e of all("[role=img], .plot")) hold(e.role === "img" && e.ariaLabel?.trim(), `no words for ${e.id || e.outerHTML.slice(0, 60)}`);
  for (const e of all("img")) hold(e.alt.trim(), "a picture without words");
  for (const e of all("input, select")) hold(e.labels.length || e.ariaLabel, `no label for ${e.outerHTML}`);
  for (const e of all("button, a, summary")) hold(says(e) || e.ariaLabel, `no name for ${e.outerHTML}`);
  for (const e of all("main *")) {
    const scrolls = ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth;
    hold(!scrolls || e.tabIndex >= 0, `the keyboard cannot scroll ${e.className}`);
  }
  return problems;
}
