"use strict";
const start = JSON.parse(document.getElementById("start").textContent);
const at = (id) => document.getElementById(id);
// Okabe and Ito's colours again, in an order that keeps neighbours apart in both themes.
const RUN_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const ENDED = ["done", "stopped", "failed"];
const PARTS = { train: "training", val: "validation", test: "test" };

// What a setting is called where runs differ in it.
const WORDS = {
  operator: (v) => v, n_layers: (v) => `${v} layer${v === 1 ? "" : "s"}`,
  filter_init: (v) => `α, β from ${v}`, dropout: (v) => `dropout ${v}`,
  max_epochs: (v) => `at most ${v} epochs`, seed: (v) => `seed ${v}`,
  baselines: (v) => (v ? "with plain models" : "alone"),
};
// Which columns are chosen from which table.
const COLUMNS = { edges: ["source", "target"], vertices: ["id", "label"] };

let graph = start.graph;
let runs = [];
let chosen = null;
const hidden = new Set();
const sent = {}; // the keys of uploads that were not read yet
let attempts = 0; // to get a graph: only the answer to the last one counts
let shown = null; // beside the choice of a graph, before those attempts
const energies = new Map();

const colour = (run) => RUN_COLOURS[(Number(run.key) - 1) % RUN_COLOURS.length];
const differs = (value) => new Set(runs.map(value)).size > 1;
// A run is named by what tells it from the others: its number, and the settings that differ.
const title = (run) => {
  const changed = Object.keys(WORDS).filter((k) => differs((r) => r.setting[k]));
  const said = changed.map((k) => WORDS[k](run.setting[k]));
  if (!said.length || differs((r) => r.graph_key)) said.unshift(run.graph);
  return `${run.key}. ${said.join(", ")}`;
};

async function ask(path, content) {
  const options = content === undefined ? {}
    : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  return read(await fetch(path, options));
}

async function read(response) {
  const found = await response.json();
  if (!response.ok) throw Object.assign(new Error(found.error), { notes: found.notes ?? [] });
  return found;
}

// An error stands beside what caused it until that is changed.
function complain(error, where) {
  const unreachable = error instanceof TypeError;
  const place = unreachable ? "connection" : where;
  at(`${place}-problem`).textContent = unreachable
    ? "The studio does not respond; is it still running?" : error.message;
  at(place)?.setAttribute("aria-invalid", "true");
}

function mend(...places) {
  for (const place of places) {
    at(`${place}-problem`).textContent = "";
    at(place)?.removeAttribute("aria-invalid");
  }
}

function faint(note) {
  const line = document.createElement("span");
  line.className = "faint";
  line.textContent = note;
  return line;
}

function takeGraph(found) {
  attempts += 1;
  shown = null;
  graph = found;
  mend("dataset", "upload", "train", ...Object.entries(COLUMNS).flat(2));
  at("graph").replaceChildren(`${found.name}: ${found.size}.`, ...found.notes.map(faint));
  at("train").disabled = false;
  drawAll();
}

async function busy(words, work, placeOf) {
  const mine = ++attempts;
  shown ??= [...at("graph").childNodes];
  at("graph").textContent = words;
  at("train").disabled = true;
  try {
    const found = await work();
    if (mine === attempts) takeGraph(found);
  } catch (error) {
    if (mine !== attempts) return;
    // What was found and guessed before the error is often its cause.
    const found = (error.notes ?? []).map(faint);
    at("graph").replaceChildren(...(graph ? shown : ["No graph yet."]), ...found);
    at("train").disabled = !graph;
    shown = null;
    complain(error, error.place ?? placeOf(error.message));
  }
}

async function send(id) {
  const file = at(id).files[0];
  if (!file) throw Object.assign(new Error(`Choose the file of the ${id} first.`), { place: id });
  const response = await fetch("api/uploads", { method: "POST", body: file,
    headers: { "X-File-Name": encodeURIComponent(file.name) } });
  const { key } = await read(response);
  // Another file may have been chosen meanwhile.
  if (at(id).files[0] === file) sent[id] = key;
  return key;
}

// Send a table as soon as it is chosen, and offer its columns.
async function chooseTable(id) {
  mend("upload", id, ...COLUMNS[id]);
  delete sent[id];
  COLUMNS[id].forEach((role) => offer(role, []));
  const file = at(id).files[0];
  if (!file) return;
  try {
    const { columns } = await ask(`api/uploads/${await send(id)}`);
    if (at(id).files[0] === file) COLUMNS[id].forEach((role) => offer(role, columns));
  } catch (error) {
    if (at(id).files[0] === file) complain(error, id);
  }
}

function offer(role, columns) {
  const options = columns.map((name) => new Option(name, name));
  at(role).replaceChildren(new Option("guessed", ""), ...options);
  at(role).disabled = !columns.length;
}

function chooseDataset() {
  const name = at("dataset").value;
  if (name === "@start") takeGraph(start.graph);
  else if (name) {
    busy(`Loading ${name} …`, () => ask("api/graphs", { dataset: name }), () => "dataset");
  }
}

// The table that an error names, or else the column that it is about.
function tablePlace(message) {
  const named = Object.keys(COLUMNS).filter((id) => message.startsWith(at(id).files[0]?.name));
  if (named.length === 1) {
    return COLUMNS[named[0]].find((role) => message.includes(`\`${role}\``)) ?? named[0];
  }
  return /\b(label|class)/.test(message) ? "label" : "upload";
}

function upload() {
  mend("upload", ...Object.entries(COLUMNS).flat(2));
  busy("Reading the tables …", async () => {
    const asked = {};
    for (const id of Object.keys(COLUMNS)) {
      try {
        asked[id] = sent[id] ?? await send(id);
      } catch (error) {
        error.place = id;
        throw error;
      }
    }
    Object.values(COLUMNS).flat().forEach((role) => { asked[role] = at(role).value; });
    Object.keys(COLUMNS).forEach((id) => delete sent[id]); // the studio reads each once
    return ask("api/graphs", asked);
  }, tablePlace);
}

async function train(event) {
  event.preventDefault();
  const number = (id) => (at(id).value === "" ? "" : at(id).valueAsNumber);
  const init = at("filter_init").value.trim();
  const setting = {
    operator: at("operator").value, n_layers: number("n_layers"), dropout: number("dropout"),
    filter_init: init !== "" && Number.isFinite(Number(init)) ? Number(init) : init,
    max_epochs: number("max_epochs"), seed: number("seed"), baselines: at("baselines").checked,
  };
  const fields = Object.keys(setting).filter((id) => at(`${id}-problem`));
  mend("train", ...fields);
  try {
    chosen = (await ask("api/runs", { graph: graph.key, setting })).key;
    await refresh();
  } catch (error) {
    const field = fields.find((id) => error.message.startsWith(id.replace("filter_", "")));
    complain(error, fields.find((id) => error.message.startsWith(id)) ?? field ?? "train");
  }
}

function button(words, act, disabled = false) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  made.disabled = disabled;
  made.addEventListener("click", act);
  return made;
}

function link(words, address) {
  const made = document.createElement("a");
  made.textContent = words;
  made.href = address;
  return made;
}

const wish = (run, word) => () => ask(`api/runs/${run.key}`, { wish: word })
  .then(refresh, (error) => complain(error, `run-${run.key}`));

function describe(run) {
  const shown = (v) => `${(100 * v).toFixed(1)} %`;
  const known = (v) => v !== undefined && v !== null;
  if (run.state === "failed") return `failed: ${run.problem}`;
  if (run.kept) {
    const scores = Object.entries(run.scores).map(([p, v]) => `${PARTS[p]} ${shown(v)}`);
    return `${run.state} after ${run.epoch} epochs; weights of the best epoch: ${scores.join(", ")}`;
  }
  const said = run.state === "comparing" ? "training the plain models" : run.state;
  const now = { training: run.train_accuracy.at(-1), validation: run.val_accuracy.at(-1) };
  const scores = Object.entries(now).filter(([, v]) => known(v)).map(([p, v]) => `${p} ${shown(v)}`);
  return scores.length ? `${said}, epoch ${run.epoch}: ${scores.join(", ")}` : said;
}

function makeCard(run) {
  const card = document.createElement("li");
  card.id = `run-${run.key}`;
  card.style.setProperty("--run", colour(run));
  const show = document.createElement("input");
  show.type = "checkbox";
  show.checked = true;
  show.setAttribute("aria-label", `show run ${run.key}`);
  show.addEventListener("change", () => {
    if (show.checked) hidden.delete(run.key); else hidden.add(run.key);
    drawAll();
  });
  const name = button("", () => { chosen = run.key; drawAll(); });
  name.className = "name";
  name.title = "show its α and β";
  const said = document.createElement("span");
  said.className = "grow said";
  const tools = document.createElement("span");
  tools.className = "tools row";
  const row = document.createElement("div");
  row.className = "row";
  row.append(show, name, said, tools);
  const problem = document.createElement("p");
  problem.id = `${card.id}-problem`;
  problem.className = "problem";
  problem.setAttribute("role", "alert");
  card.append(row, problem, document.createElement("progress"));
  return card;
}

function updateCard(run) {
  const card = at(`run-${run.key}`) ?? at("runs").appendChild(makeCard(run));
  card.querySelector(".name").textContent = title(run);
  card.querySelector(".said").textContent = describe(run);
  const bar = card.querySelector("progress");
  bar.max = run.max_epochs;
  bar.value = run.epoch;
  bar.hidden = ENDED.includes(run.state);
  bar.setAttribute("aria-label", `epochs of run ${run.key}`);
  if (card.dataset.state === run.state) return;
  card.dataset.state = run.state;
  mend(card.id);
  const tools = card.querySelector(".tools");
  if (run.kept) {
    tools.replaceChildren(link("Report", `runs/${run.key}/report`),
      link("Download", `runs/${run.key}/download`));
    tools.firstChild.target = "_blank";
  } else if (ENDED.includes(run.state)) {
    tools.replaceChildren();
  } else {
    const paused = run.state === "paused";
    tools.replaceChildren(button(paused ? "Resume" : "Pause", wish(run, paused ? "resume" : "pause")),
      button("Stop", wish(run, "stop")));
  }
}

function drawAll() {
  const c = colours();
  const shown = runs.filter((run) => !hidden.has(run.key));
  const largest = (y) => Math.max(...y.map(Math.abs)) || 1;
  const scaled = (y) => (at("scaled").checked ? y.map((v) => v / largest(y)) : y);
  const run = runs.find((r) => r.key === chosen) ?? runs.at(-1);
  const energy = energyOf(run?.graph_key ?? graph?.key);
  // The energy has the axis below, which is not shown; the curves lie over it.
  const behind = energy && energy.y.length ? [{ type: "bar", x: energy.x, y: energy.y, width: energy.x[1] - energy.x[0],
    name: "energy of the labels", hoverinfo: "skip", marker: { color: c.orange, opacity: 0.28 } }] : [];
  at("energy-of").textContent = run && differs((r) => r.graph_key) ? ` of ${run.graph} (run ${run.key})` : "";
  const responses = shown.flatMap((run) => [
    run.start && { x: run.x, y: scaled(run.start), yaxis: "y2", mode: "lines", hoverinfo: "skip", showlegend: false,
      line: { color: c.faint, dash: "dash", width: 1 } },
    run.response && { x: run.x, y: scaled(run.response), yaxis: "y2", mode: "lines", name: asText(title(run), 60),
      line: { color: colour(run), width: run.key === chosen ? 4 : 2 },
      hovertemplate: "frequency %{x:.2f}<br>response %{y:.3f}<extra></extra>" },
  ]).filter(Boolean);
  draw("response-plot", [...behind, ...responses], { showlegend: true, bargap: 0,
    xaxis: { title: { text: frequencyAxis() }, range: [-0.02, 2.02] },
    yaxis: { visible: false, rangemode: "tozero" },
    yaxis2: { ...layout().yaxis, overlaying: "y", side: "left", tickmode: "auto", title: { text: "response f", standoff: 8 } } });
  const accuracy = (run, part, dash) => ({ x: run.epochs, y: run[`${part}_accuracy`], mode: "lines",
    name: asText(title(run), 60), line: { color: colour(run), dash, width: run.key === chosen ? 3 : 1.5 },
    hovertemplate: `epoch %{x}: ${PARTS[part]} %{y:.1%}` });
  draw("accuracy-plot", shown.flatMap((run) => [accuracy(run, "train", "dot"), accuracy(run, "val", "solid")]),
  { showlegend: false, xaxis: { title: { text: "epoch" } }, yaxis: { tickformat: ".0%", range: [0, 1.02] } });
  at("chosen").textContent = run ? `run ${run.key}` : "the last run";
  const layers = (run?.alpha ?? []).map((_, i) => i + 1);
  const bars = (y, name, color) => ({ type: "bar", x: layers, y, name, marker: { color },
    hovertemplate: `layer %{x}: ${name} = %{y:.3f}<extra></extra>` });
  draw("scalar-plot", [bars(run?.alpha ?? [], "α", c.blue), bars(run?.beta ?? [], "β", c.orange)],
    { xaxis: { title: { text: "layer" } }, legend: { x: 1, xanchor: "right", y: 1.1, orientation: "h" } });
}

// Made by the studio once per graph; drawn when it is there.
function energyOf(key) {
  if (key && !energies.has(key)) {
    energies.set(key, null);
    ask(`api/graphs/${key}/energy`).then((found) => { energies.set(key, found); drawAll(); },
      () => {}); // a graph that the studio has forgotten is drawn without
  }
  return energies.get(key);
}

let drawn = "";
async function refresh() {
  const found = await (await fetch("api/runs")).text();
  if (found === drawn) return;
  drawn = found;
  runs = JSON.parse(found).runs;
  at("none").hidden = runs.length > 0;
  runs.forEach(updateCard);
  drawAll();
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

at("form").addEventListener("submit", train);
for (const kind of ["input", "change"]) {
  at("form").addEventListener(kind, ({ target }) => {
    mend("train");
    if (at(`${target.id}-problem`)) mend(target.id);
    // What was wrong with a table may have been the choice of its columns.
    mend(...Object.keys(COLUMNS).filter((id) => COLUMNS[id].includes(target.id)));
  });
}
Object.keys(COLUMNS).forEach((id) => at(id).addEventListener("change", () => chooseTable(id)));
at("dataset").addEventListener("change", chooseDataset);
at("upload").addEventListener("click", upload);
at("scaled").addEventListener("change", drawAll);
addEventListener("resize", drawAll);
theme.start(drawAll);
if (graph) takeGraph(graph);
watch();
