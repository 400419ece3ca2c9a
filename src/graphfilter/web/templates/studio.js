"use strict";
// The page for a table: choose it, see how each column was read, fit, watch, open the report.
const start = JSON.parse(document.getElementById("start").textContent);
const at = (id) => document.getElementById(id);
// Okabe and Ito's colours again, in an order that keeps neighbours apart in both themes.
const RUN_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const ENDED = ["done", "stopped", "failed"];
const EFFORTS = { low: "low effort", full: "usual effort", high: "high effort", filter: "the paper’s filter" };
// What a column can be: the words of the page for those of the studio.
const VERTEX_KINDS = { id: "id", label: "label", split: "split: train, val, test", number: "number",
  category: "category", text: "text", date: "date", boolean: "yes or no", drop: "not used" };
const EDGE_KINDS = { source: "one end", target: "the other end", weight: "weight",
  edge_kind: "type of connection", edge_time: "time" };
const ALONE = ["id", "label", "split", ...Object.keys(EDGE_KINDS)]; // one column each

let graph = start.graph;
let tables = []; // {key, name, hasEnds}: at most two
let choices = { columns: {}, edge_columns: {} };
let runs = [];
let attempts = 0; // to read a graph: only the answer to the last one counts

const colour = (run) => RUN_COLOURS[(Number(run.key) - 1) % RUN_COLOURS.length];
const percent = (share) => `${(100 * share).toFixed(1)} %`;

async function read(response) {
  const content = await response.json();
  if (!response.ok) throw new Error(content.error);
  return content;
}

async function ask(path, content) {
  const options = content === undefined ? {}
    : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  return read(await fetch(path, options));
}

// An error stands beside what caused it until that is changed.
function complain(error, place) {
  const unreachable = error instanceof TypeError;
  at(`${unreachable ? "connection" : place}-problem`).textContent = unreachable
    ? "The studio does not respond; is it still running?" : error.message;
}

const mend = (...places) => places.forEach((place) => { at(`${place}-problem`).textContent = ""; });

function make(tag, text, attributes = {}) {
  const element = Object.assign(document.createElement(tag), attributes);
  if (text) element.textContent = text;
  return element;
}

// --- Tables --------------------------------------------------------------------------------

const vertexTable = () => tables.find((table) => !table.hasEnds);
const edgeTable = () => tables.find((table) => table.hasEnds);

async function takeFiles(files) {
  if (!files.length) return;
  mend("tables", "fit");
  at("dataset").value = "";
  const mine = ++attempts;
  showGraph(null, "Sending …");
  try {
    const sent = [];
    for (const file of files) {
      const { key, has_ends: hasEnds } = await read(await fetch("api/uploads", { method: "POST",
        body: file, headers: { "X-File-Name": encodeURIComponent(file.name) } }));
      sent.push({ key, name: file.name, hasEnds });
    }
    if (mine !== attempts) return;
    // A second table, dropped alone, joins the first.
    const both = sent.length === 1 && tables.length === 1 && sent[0].hasEnds !== tables[0].hasEnds;
    tables = both ? [...tables, ...sent] : sent;
    if (tables.length > 2) throw new Error("Give one table, or two: one of them of connections.");
    if (tables.length === 2 && tables[0].hasEnds === tables[1].hasEnds) {
      // Neither is named like edges, or both: the smaller number of columns is not known here.
      const edges = tables.findIndex((table) => /edge|link|kante/i.test(table.name));
      tables.forEach((table, i) => { table.hasEnds = i === (edges < 0 ? 1 : edges); });
    }
    if (tables.length === 1) tables[0].hasEnds = false;
    choices = { columns: {}, edge_columns: {} };
    await readTables();
  } catch (error) {
    if (mine !== attempts) return;
    tables = [];
    showGraph(null, "No table yet.");
    complain(error, "tables");
  }
}

async function readTables() {
  const request = { ...choices, vertices: vertexTable().key };
  if (edgeTable()) request.edges = edgeTable().key;
  await readGraph(request, "Reading …");
}

async function readGraph(request, words) {
  const mine = ++attempts;
  mend("tables", "fit");
  showGraph(null, words);
  try {
    const answer = await ask("api/graphs", request);
    if (mine !== attempts) return;
    showGraph(answer.key ? answer : null, "These tables cannot be fitted yet.", answer.notes);
    showColumns(answer);
    if (answer.problem) complain(new Error(answer.problem), "tables");
  } catch (error) {
    if (mine !== attempts) return;
    showGraph(null, "No table yet.");
    complain(error, "tables");
  }
}

function showGraph(found, words, notes = []) {
  graph = found;
  at("graph").textContent = found ? `${found.name}: ${found.size}.` : words;
  at("chosen").hidden = !tables.length;
  at("names").textContent = tables.length && vertexTable()
    ? `Rows: ${vertexTable().name}${edgeTable() ? `. Connections: ${edgeTable().name}` : ""}.` : "";
  at("swap").hidden = tables.length < 2;
  at("notes").hidden = !notes.length;
  at("notes").querySelector("ul").replaceChildren(...notes.map((note) => make("li", note)));
  at("start-fit").disabled = !found;
}

// --- Columns -------------------------------------------------------------------------------

function showColumns({ columns = [], edge_columns: ends = [] }) {
  at("columns").hidden = !columns.length;
  fillTable("vertices", columns, VERTEX_KINDS, choices.columns, vertexTable());
  fillTable("edges", ends, EDGE_KINDS, choices.edge_columns, edgeTable());
}

function fillTable(id, columns, kinds, chosen, table) {
  at(id).hidden = !columns.length;
  at(id).closest(".scroll").hidden = !columns.length;
  if (table) at(id).caption.textContent = table.name;
  at(id).tBodies[0].replaceChildren(...columns.map((column) => {
    const select = make("select", "", { className: chosen[column.name] ? "changed" : "" });
    select.setAttribute("aria-label", `Read ${column.name} as`);
    select.append(...Object.entries(kinds).map(([kind, words]) => new Option(words, kind)));
    // What is said of connections is summed up for each of their ends.
    const other = id === "edges" ? "summed up" : "not used";
    if (!(column.kind in kinds)) select.prepend(new Option(column.kind || other, column.kind));
    if (chosen[column.name]) select.prepend(new Option("as detected", "detected"));
    select.value = column.kind;
    select.addEventListener("change", () => choose(chosen, column.name, select.value));
    const cell = make("td");
    cell.append(select);
    const missing = column.missing ? `${column.missing} of ${column.rows}` : "";
    const row = make("tr");
    row.append(make("th", column.name || "(no name)", { scope: "row" }), cell,
      make("td", column.example), make("td", missing, { className: "number" }));
    return row;
  }));
}

function choose(chosen, name, kind) {
  for (const other of Object.keys(chosen)) {
    if (ALONE.includes(kind) && chosen[other] === kind) delete chosen[other];
  }
  if (kind === "detected") delete chosen[name];
  else chosen[name] = kind;
  readTables();
}

// --- Fits ----------------------------------------------------------------------------------

async function startFit(setting, place) {
  mend(place);
  try {
    await ask("api/runs", { graph: graph.key, setting });
    await refresh();
  } catch (error) {
    complain(error, place);
  }
}

// Which member of how many, how far it is, and how good all of them are together so far.
function describe(run) {
  const p = run.progress;
  if (run.state === "failed") return `Failed: ${run.problem}`;
  if (run.kept) return run.headline;
  if (run.state === "stopped") return "Stopped before anything was learned.";
  if (run.state === "waiting") return "Waiting for the fit before it.";
  if (run.state === "comparing") return "The models have learned. Training plain models to compare with …";
  if (!p.max_epochs) return "Preparing the graph …";
  const [, member, number, many] = p.stage.match(/^(.*) \((\d+) of (\d+)\)$/) ?? [];
  const words = [member ? `Model ${number} of ${many}: ${member}` : p.stage || "The filter"];
  if (p.max_epochs > 1) words.push(`epoch ${p.epoch} of at most ${p.max_epochs}`);
  const share = p.score_name === "accuracy";
  if (share && p.pool_score !== null && p.pool_score !== undefined) words.push(`all models so far are right for ${percent(p.pool_score)} of the validation part`);
  else if (p.score !== null) words.push(share ? `right for ${percent(p.score)} of the validation part` : `validation ${p.score_name} ${p.score.toFixed(3)}`);
  if (p.seconds_left >= 1) words.push(`about ${p.seconds_left < 90 ? `${Math.round(p.seconds_left)} s` : `${Math.round(p.seconds_left / 60)} min`} left`);
  return `${run.state === "paused" ? "Paused. " : ""}${words.join(", ")}.`;
}

const title = (run) => `${run.key}. ${run.graph}: ${EFFORTS[run.setting.model === "filter" ? "filter" : run.setting.effort]}`;

function button(words, act) {
  const made = make("button", words, { type: "button" });
  made.addEventListener("click", act);
  return made;
}

const command = (run, wish) => () => ask(`api/runs/${run.key}`, { wish })
  .then(refresh, (error) => complain(error, `run-${run.key}`));

function makeCard(run) {
  const card = make("li", "", { id: `run-${run.key}` });
  card.style.setProperty("--run", colour(run));
  const problem = make("p", "", { id: `${card.id}-problem`, className: "problem" });
  problem.setAttribute("role", "alert");
  card.append(make("strong", title(run), { className: "name" }), make("p", "", { className: "said" }),
    make("progress"),
    make("div", "", { className: "tools" }), problem);
  return card;
}

function updateCard(run) {
  const card = at(`run-${run.key}`) ?? at("runs").appendChild(makeCard(run));
  card.querySelector(".said").textContent = describe(run);
  const bar = card.querySelector("progress");
  const [, number, many] = (run.progress.stage ?? "").match(/\((\d+) of (\d+)\)$/) ?? [];
  const share = run.progress.max_epochs ? run.progress.epoch / run.progress.max_epochs : 0;
  bar.max = 1;
  bar.value = many ? number / many : share;
  bar.hidden = ENDED.includes(run.state);
  bar.setAttribute("aria-label", `progress of fit ${run.key}`);
  if (card.dataset.state === run.state) return;
  card.dataset.state = run.state;
  mend(card.id);
  const tools = card.querySelector(".tools");
  if (run.kept) {
    const report = make("a", "Open the report", { href: `runs/${run.key}/report`, target: "_blank" });
    tools.replaceChildren(report, make("a", "Download", { href: `runs/${run.key}/download` }));
  } else if (ENDED.includes(run.state)) {
    tools.replaceChildren();
  } else {
    const paused = run.state === "paused";
    tools.replaceChildren(button(paused ? "Resume" : "Pause", command(run, paused ? "resume" : "pause")),
      button("Stop", command(run, "stop")));
  }
}

let shownText = "";
async function refresh() {
  const text = await (await fetch("api/runs")).text();
  if (text === shownText) return;
  shownText = text;
  runs = JSON.parse(text).runs;
  at("none").hidden = runs.length > 0;
  runs.forEach(updateCard);
}

async function watch() {
  try {
    await refresh();
    mend("connection");
  } catch (error) {
    complain(error, "connection");
  }
  const active = runs.some((run) => !ENDED.includes(run.state));
  setTimeout(watch, active ? 300 : 1500);
}

at("files").addEventListener("change", () => takeFiles([...at("files").files]));
for (const kind of ["dragenter", "dragover", "dragleave", "drop"]) {
  at("drop").addEventListener(kind, (event) => {
    event.preventDefault();
    at("drop").classList.toggle("over", kind === "dragenter" || kind === "dragover");
    if (kind === "drop") takeFiles([...event.dataTransfer.files]);
  });
}
at("swap").addEventListener("click", () => {
  tables.forEach((table) => { table.hasEnds = !table.hasEnds; });
  choices = { columns: {}, edge_columns: {} };
  readTables();
});
at("dataset").addEventListener("change", () => {
  const name = at("dataset").value;
  if (!name) return;
  tables = [];
  readGraph({ dataset: name }, `Loading ${name} …`);
});
at("fit").addEventListener("submit", (event) => {
  event.preventDefault();
  const effort = at("effort").value;
  const setting = effort === "filter" ? { model: "filter" } : { effort };
  startFit({ ...setting, baselines: at("baselines").checked }, "fit");
});
theme.start(() => {});
if (graph) showGraph(graph, "", graph.notes);
watch();
