"use strict";
const start = JSON.parse(document.getElementById("start").textContent);
const at = (id) => document.getElementById(id);
// Okabe and Ito's colours again, in an order that keeps neighbours apart in both themes.
const RUN_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const ENDED = ["done", "stopped", "failed"];
const PARTS = { train: "training", val: "validation", test: "test" };

let graph = start.graph;
let runs = [];
let chosen = null;
const hidden = new Set();

const colour = (run) => RUN_COLOURS[(Number(run.key) - 1) % RUN_COLOURS.length];
const title = (run) => {
  const s = run.setting;
  const usual = start.setting;
  const changed = Object.keys(s).filter((k) => s[k] !== usual[k] && k !== "baselines");
  const said = changed.map((k) => `${k} ${s[k]}`).join(", ");
  return `${run.key}. ${run.graph}${said ? ` (${said})` : ""}`;
};

async function ask(path, content) {
  const options = content === undefined ? {}
    : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content) };
  return read(await fetch(path, options));
}

async function read(response) {
  const found = await response.json();
  if (!response.ok) throw new Error(found.error);
  return found;
}

function complain(error) {
  at("problem").textContent = error.message === "Failed to fetch"
    ? "The studio does not answer; is it still running?" : error.message;
}

function takeGraph(found) {
  graph = found;
  at("problem").textContent = "";
  at("graph").replaceChildren(`${found.name}: ${found.size}.`, ...found.notes.map((note) => {
    const line = document.createElement("span");
    line.className = "faint";
    line.textContent = ` ${note}`;
    return line;
  }));
  at("train").disabled = false;
}

async function busy(words, work) {
  const before = at("graph").textContent;
  at("graph").textContent = words;
  at("train").disabled = true;
  try {
    takeGraph(await work());
  } catch (error) {
    at("graph").textContent = graph ? before : "No graph yet.";
    at("train").disabled = !graph;
    complain(error);
  }
}

async function send(id) {
  const file = at(id).files[0];
  if (!file) throw new Error(`choose the file of the ${id} first.`);
  const response = await fetch("api/uploads", { method: "POST", body: file,
    headers: { "X-File-Name": encodeURIComponent(file.name) } });
  return (await read(response)).key;
}

function chooseDataset() {
  const name = at("dataset").value;
  if (name === "@start") takeGraph(start.graph);
  else if (name) busy(`Loading ${name} …`, () => ask("api/graphs", { dataset: name }));
}

function upload() {
  busy("Reading the tables …", async () => {
    const edges = await send("edges");
    const vertices = await send("vertices");
    return ask("api/graphs", { edges, vertices, label: at("label").value });
  });
}

async function train(event) {
  event.preventDefault();
  const number = (id) => at(id).valueAsNumber;
  const init = at("filter_init").value.trim();
  const setting = {
    operator: at("operator").value, n_layers: number("n_layers"), dropout: number("dropout"),
    filter_init: init !== "" && Number.isFinite(Number(init)) ? Number(init) : init,
    max_epochs: number("max_epochs"), seed: number("seed"), baselines: at("baselines").checked,
  };
  try {
    chosen = (await ask("api/runs", { graph: graph.key, setting })).key;
    at("problem").textContent = "";
    await refresh();
  } catch (error) {
    complain(error);
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

const wish = (run, word) => () => ask(`api/runs/${run.key}`, { wish: word }).then(refresh, complain);

function describe(run) {
  const shown = (v) => `${(100 * v).toFixed(1)} %`;
  const known = (v) => v !== undefined && v !== null;
  if (run.state === "failed") return `failed: ${run.problem}`;
  if (run.kept) {
    const scores = Object.entries(run.scores).map(([p, v]) => `${PARTS[p]} ${shown(v)}`);
    return `${run.state} after ${run.epoch} epochs; best weights kept: ${scores.join(", ")}`;
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
  const name = button(title(run), () => { chosen = run.key; drawAll(); });
  name.title = "show its α and β";
  const said = document.createElement("span");
  said.className = "grow said";
  const tools = document.createElement("span");
  tools.className = "tools row";
  const row = document.createElement("div");
  row.className = "row";
  row.append(show, name, said, tools);
  card.append(row, document.createElement("progress"));
  return card;
}

function updateCard(run) {
  const card = at(`run-${run.key}`) ?? at("runs").appendChild(makeCard(run));
  card.querySelector(".said").textContent = describe(run);
  const bar = card.querySelector("progress");
  bar.max = run.max_epochs;
  bar.value = run.epoch;
  bar.hidden = ENDED.includes(run.state);
  bar.setAttribute("aria-label", `epochs of run ${run.key}`);
  if (card.dataset.state === run.state) return;
  card.dataset.state = run.state;
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
  const responses = shown.flatMap((run) => [
    run.start && { x: run.x, y: scaled(run.start), mode: "lines", hoverinfo: "skip", showlegend: false,
      line: { color: c.faint, dash: "dash", width: 1 } },
    run.response && { x: run.x, y: scaled(run.response), mode: "lines", name: asText(title(run), 60),
      line: { color: colour(run), width: run.key === chosen ? 4 : 2 },
      hovertemplate: "frequency %{x:.2f}<br>response %{y:.3f}<extra></extra>" },
  ]).filter(Boolean);
  draw("response-plot", responses, { showlegend: true,
    xaxis: { title: { text: frequencyAxis() }, range: [-0.02, 2.02] },
    yaxis: { title: { text: "response f" } } });
  const accuracy = (run, part, dash) => ({ x: run.epochs, y: run[`${part}_accuracy`], mode: "lines",
    name: asText(title(run), 60), line: { color: colour(run), dash, width: run.key === chosen ? 3 : 1.5 },
    hovertemplate: `epoch %{x}: ${PARTS[part]} %{y:.1%}` });
  draw("accuracy-plot", shown.flatMap((run) => [accuracy(run, "train", "dot"), accuracy(run, "val", "solid")]),
  { showlegend: false, xaxis: { title: { text: "epoch" } }, yaxis: { tickformat: ".0%", range: [0, 1.02] } });
  const run = runs.find((r) => r.key === chosen) ?? runs.at(-1);
  at("chosen").textContent = run ? `run ${run.key}` : "the last run";
  const layers = (run?.alpha ?? []).map((_, i) => i + 1);
  const bars = (y, name, color) => ({ type: "bar", x: layers, y, name, marker: { color },
    hovertemplate: `layer %{x}: ${name} = %{y:.3f}<extra></extra>` });
  draw("scalar-plot", [bars(run?.alpha ?? [], "α", c.blue), bars(run?.beta ?? [], "β", c.orange)],
    { xaxis: { title: { text: "layer" } }, legend: { x: 1, xanchor: "right", y: 1.1, orientation: "h" } });
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
  } catch (error) {
    complain(error);
  }
  const active = runs.some((run) => !ENDED.includes(run.state));
  setTimeout(watch, active ? 300 : 1500);
}

at("form").addEventListener("submit", train);
at("dataset").addEventListener("change", chooseDataset);
at("upload").addEventListener("click", upload);
at("scaled").addEventListener("change", drawAll);
if (graph) takeGraph(graph);
theme.start(drawAll);
watch();
