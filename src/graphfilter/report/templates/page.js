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

// Every heading of a sortable table becomes a button; cells sort by data-value, or as text.
function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const value = (row, i) => row.cells[i].dataset.value ?? row.cells[i].textContent.trim();
  const compare = (a, b) => (Number.isNaN(a - b) ? a.localeCompare(b) : a - b);
  heads.forEach((head, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const sign = head.getAttribute("aria-sort") === "descending" ? 1 : -1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows];
      const last = (row) => value(row, i) === "";
      rows.sort((a, b) => last(a) - last(b) || sign * compare(value(a, i), value(b, i)));
      table.tBodies[0].append(...rows);
    });
  });
}

function startPage(redraw) {
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
