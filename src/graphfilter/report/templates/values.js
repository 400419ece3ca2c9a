const data = JSON.parse(document.getElementById("data").textContent);

function drawFilter() {
  const c = colours();
  const f = data.filter;
  const width = f.bins.length > 1 ? f.bins[1] - f.bins[0] : 2;
  const marks = f.frequency.map((x, i) => ({ x, name: asText(f.names[i]) })).filter((m) => m.x !== null);
  draw("filter-plot", [
    { yaxis: "y2", hoverinfo: "skip", type: "bar", width, x: f.bins, y: f.density,
      name: "all frequencies of the graph", marker: { color: c.faint, opacity: 0.22 } },
    ...f.members.map((y, i) => ({ x: f.x, y, mode: "lines", hoverinfo: "skip",
      name: "members", legendgroup: "members", showlegend: i === 0,
      line: { color: c.blue, width: 1 }, opacity: 0.35 })),
    { x: f.x, y: f.frames[0], mode: "lines", name: "before training", hoverinfo: "skip",
      line: { color: c.faint, dash: "dash", width: 1.5 } },
    { x: f.x, y: f.kept, mode: "lines", name: "learned", line: { color: c.blue, width: 3.5 },
      hovertemplate: "frequency %{x:.2f}<br>response %{y:.3f}<extra></extra>" },
    { x: marks.map((m) => m.x), y: marks.map(() => 0), mode: "markers", cliponaxis: false,
      name: "frequency of what is predicted", text: marks.map((m) => m.name),
      marker: { color: c.orange, symbol: "triangle-up", size: 10,
        line: { color: c.ground, width: 1 } },
      hovertemplate: "%{text}: %{x:.2f}<extra></extra>" },
  ], {
    xaxis: { title: { text: frequencyAxis() }, range: [-0.02, 2.02] },
    yaxis: { title: { text: "response f" }, zeroline: true },
    yaxis2: { overlaying: "y", side: "right", visible: false, rangemode: "tozero" },
    barmode: "overlay", bargap: 0,
  });
}

function drawTraining() {
  const c = colours();
  const t = data.training;
  const line = (y, name, color, more) => ({ x: t.epochs, y, name, mode: "lines",
    line: { color, width: 2 }, ...more });
  const traces = [
    line(t.train, `training ${t.score}`, c.blue),
    line(t.val, `validation ${t.score}`, c.orange),
    line(t.loss, "loss (right axis)", c.faint, { yaxis: "y2", line: { color: c.faint, dash: "dot" } }),
  ];
  // The first epochs may be far below what a mean would score.
  const lowest = Math.min(...t.train, ...t.val.filter((v) => v !== null));
  draw("training-plot", traces.filter((trace) => trace.y.some((v) => v !== null)), {
    margin: { l: 50, r: 46, t: 10, b: 46 },
    xaxis: { title: { text: "epoch" } },
    yaxis: { title: { text: t.score }, range: [Math.max(-1, Math.min(0, lowest)), 1.02] },
    yaxis2: { overlaying: "y", side: "right", showgrid: false, automargin: true,
      rangemode: "tozero", nticks: 5, tickmode: "auto", tickformat: ".2~f" },
    shapes: [{ type: "line", x0: t.kept_epoch, x1: t.kept_epoch, y0: 0, y1: 1, yref: "paper",
      line: { color: c.text, width: 1, dash: "dot" } }],
  });
}

function drawScatter() {
  const s = data.scatter;
  if (!s) return;
  const c = colours();
  const ends = [Math.min(...s.observed, ...s.predicted), Math.max(...s.observed, ...s.predicted)];
  draw("scatter-plot", [
    { x: ends, y: ends, mode: "lines", name: "as observed", hoverinfo: "skip",
      line: { color: c.faint, dash: "dash" } },
    { x: s.observed, y: s.predicted, mode: "markers", name: "vertices", cliponaxis: false,
      text: s.ids.map((id) => asText(id)),
      marker: { color: c.blue, size: 6, opacity: s.observed.length > 500 ? 0.35 : 0.6 },
      hovertemplate: "%{text}<br>observed %{x:.4g}, predicted %{y:.4g}<extra></extra>" },
  ], { xaxis: { title: { text: "observed" } }, yaxis: { title: { text: "predicted" } } });
}

startPage(() => { drawFilter(); drawTraining(); drawScatter(); });
