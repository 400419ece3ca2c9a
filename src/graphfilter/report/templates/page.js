// What every page can do: tables to search, sort and take away, a command to copy, printing.

function searchTable(box) {
  const table = document.getElementById(box.dataset.table);
  const wanted = box.value.trim().toLowerCase();
  let n = 0;
  for (const row of table.tBodies[0].rows) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
    n += !row.hidden;
  }
  document.getElementById(`${box.dataset.table}-count`).textContent = `${n} shown`;
}

function downloadTable(button) {
  const quote = (cell) => `"${cell.textContent.trim().replace(/"/g, '""')}"`;
  const rows = [...document.getElementById(button.dataset.table).rows].filter((row) => !row.hidden);
  const text = rows.map((row) => [...row.cells].map(quote).join(",")).join("\r\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = `${button.dataset.table}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function copyText(button) {
  const place = document.getElementById(button.dataset.copy);
  try {
    await navigator.clipboard.writeText(place.textContent);
  } catch {
    // A page opened from disk may not write to the clipboard: select it for the user instead.
    getSelection().selectAllChildren(place);
    button.textContent = "Selected: press Ctrl-C";
    return;
  }
  button.textContent = "Copied";
}

// What a cell sorts by: its data-value, the number it starts with, or its text.
function sortKey(cell) {
  const text = (cell.dataset.value ?? cell.textContent).trim();
  const number = parseFloat(text.replace(/,/g, ""));
  return Number.isNaN(number) ? text.toLowerCase() : number;
}

// Every heading of a sortable table becomes a button.
function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: sortKey(row.cells[i]) }));
      // Numbers start with the largest, text with the first; a second click turns it round.
      const before = head.getAttribute("aria-sort");
      const first = rows.some(({ key }) => typeof key === "number") ? -1 : 1;
      const sign = before ? (before === "ascending" ? -1 : 1) : first;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const kind = (key) => (key === "" ? 2 : Number(typeof key === "string"));
      const order = (a, b) => (a > b) - (a < b);
      rows.sort((a, b) => kind(a.key) - kind(b.key) || sign * order(a.key, b.key));
      table.tBodies[0].append(...rows.map(({ row }) => row));
    });
  });
}

// A table that is wider than its box becomes one block per row, each number beside its heading.
function fitTable(box) {
  const table = box.querySelector(":scope > table:not(.matrix)");
  if (!table?.tHead) return;
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent.trim());
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, i) => { cell.dataset.head = heads[i] ?? ""; });
  }
  const fit = () => {
    table.classList.remove("stacked");
    table.classList.toggle("stacked", box.scrollWidth > box.clientWidth + 1);
  };
  let width = 0;
  new ResizeObserver(() => {
    if (box.clientWidth !== width) { width = box.clientWidth; fit(); }
  }).observe(box);
}

// Say on which side a box that scrolls has more to see.
function markMore(box) {
  const mark = () => {
    box.classList.toggle("more-left", box.scrollLeft > 1);
    box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
  };
  box.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(box);
}

function startPage(redraw) {
  document.querySelectorAll(".scroll, .vertices").forEach(fitTable);
  document.querySelectorAll(".scroll").forEach(markMore);
  for (const box of document.querySelectorAll("input[data-table]")) {
    box.addEventListener("input", () => searchTable(box));
  }
  for (const button of document.querySelectorAll("button[data-table]")) {
    button.addEventListener("click", () => downloadTable(button));
  }
  document.querySelectorAll("table.sortable").forEach(makeSortable);
  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", () => copyText(button));
  }
  addEventListener("beforeprint", () => theme.apply("light", redraw));
  addEventListener("afterprint", () => theme.apply(theme.wanted(), redraw));
  theme.start(redraw);
}
