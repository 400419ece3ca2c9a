"use strict";
// A view of the studio: what one filter learns, drawn while it does. Plotly is loaded when it opens.
const energies = new Map();

function trainFilter(event) {
  event.preventDefault();
  const number = (id) => (at(id).value === "" ? "" : at(id).valueAsNumber);
  const init = at("filter_init").value.trim();
  startFit({
    model: "filter", baselines: false, operator: at("operator").value, n_layers: number("n_layers"),
    dropout: number("dropout"), max_epochs: number("max_epochs"), seed: number("seed"),
    filter_init: init !== "" && Number.isFinite(Number(init)) ? Number(init) : init,
  }, "filter");
}

function openFilters() {
  if (!at("filters").open) return;
  if (window.Plotly) {
    drawFilters();
  } else {
    const script = make("script", "", { src: "assets/plotly.js" });
    script.addEventListener("load", drawFilters);
    document.body.append(script);
  }
}

function drawFilters() {
  const shown = runs.filter((run) => run.setting.model === "filter");
  at("filter-plots").hidden = !shown.length;
  if (!shown.length || !at("filters").open || !window.Plotly) return;
  const c = colours();
  const last = shown.at(-1);
  const energy = energyOf(last.graph_key);
  // The energy has the axis below, which is not shown; the curves lie over it.
  const behind = energy && energy.y.length ? [{ type: "bar", x: energy.x, y: energy.y, width: energy.x[1] - energy.x[0],
    name: "energy of the labels", hoverinfo: "skip", marker: { color: c.orange, opacity: 0.28 } }] : [];
  const responses = shown.flatMap((run) => [
    run.start && { x: run.x, y: run.start, yaxis: "y2", mode: "lines", hoverinfo: "skip", showlegend: false,
      line: { color: c.faint, dash: "dash", width: 1 } },
    run.response && { x: run.x, y: run.response, yaxis: "y2", mode: "lines", name: asText(title(run), 60),
      line: { color: colour(run), width: 2 }, hovertemplate: "frequency %{x:.2f}<br>response %{y:.3f}<extra></extra>" },
  ]).filter(Boolean);
  draw("response-plot", [...behind, ...responses], { showlegend: true, bargap: 0,
    xaxis: { title: { text: frequencyAxis() }, range: [-0.02, 2.02] },
    yaxis: { visible: false, rangemode: "tozero" },
    yaxis2: { ...layout().yaxis, overlaying: "y", side: "left", tickmode: "auto", title: { text: "response f", standoff: 8 } } });
  const accuracy = (run, part, dash) => ({ x: run.epochs, y: run[`${part}_accuracy`], mode: "lines",
    name: asText(title(run), 60), line: { color: colour(run), dash, width: 1.5 },
    hovertemplate: `epoch %{x}: ${PARTS[part]} %{y:.1%}` });
  draw("accuracy-plot", shown.flatMap((run) => [accuracy(run, "train", "dot"), accuracy(run, "val", "solid")]),
    { showlegend: false, xaxis: { title: { text: "epoch" } }, yaxis: { tickformat: ".0%", range: [0, 1.02] } });
  const layers = (last.alpha ?? []).map((_, i) => i + 1);
  const bars = (y, name, color) => ({ type: "bar", x: layers, y, name, marker: { color },
    hovertemplate: `layer %{x}: ${name} = %{y:.3f}<extra></extra>` });
  draw("scalar-plot", [bars(last.alpha ?? [], "α", c.blue), bars(last.beta ?? [], "β", c.orange)],
    { xaxis: { title: { text: "layer" } }, legend: { x: 1, xanchor: "right", y: 1.1, orientation: "h" } });
}

// Made by the studio once per graph; drawn when it is there.
function energyOf(key) {
  if (!energies.has(key)) {
    energies.set(key, null);
    ask(`api/graphs/${key}/energy`).then((found) => { energies.set(key, found); drawFilters(); },
      () => {}); // a graph that the studio has forgotten is drawn without
  }
  return energies.get(key);
}

at("filter-form").addEventListener("submit", trainFilter);
at("filter-form").addEventListener("input", () => mend("filter"));
at("filters").addEventListener("toggle", openFilters);
addEventListener("resize", drawFilters);
theme.start(drawFilters);
if (graph) showGraph(graph, "", graph.notes);
watch();
