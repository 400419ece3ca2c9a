// Two classes: precision and recall, and the ROC curve, with the thresholds of the table.

function drawDecision() {
  const d = data.decision;
  if (!d) return;
  const c = colours();
  const curve = (x, y, name) => ({ x, y, mode: "lines", name, text: d.thresholds,
    line: { color: c.blue, width: 2.5 },
    hovertemplate: "from %{text}<br>%{x:.1%}, %{y:.1%}<extra></extra>" });
  const marks = (x, y) => d.points.map((point, i) => ({ x: [point[x]], y: [point[y]],
    mode: "markers", name: point.title, cliponaxis: false,
    marker: { size: 12, color: i ? c.orange : c.ground, symbol: i ? "diamond" : "circle",
      line: { color: i ? c.orange : c.text, width: 2 } },
    hovertemplate: `${point.title}<br>%{x:.1%}, %{y:.1%}<extra></extra>` }));
  const guess = (x, y) => ({ x, y, mode: "lines", name: "guessing", hoverinfo: "skip",
    line: { color: c.faint, dash: "dash", width: 1.5 } });
  const axis = { tickformat: ".0%", range: [-0.01, 1.02] };
  draw("precision-plot", [curve(d.recall, d.precision, "this model"),
    guess([0, 1], [d.share, d.share]), ...marks("recall", "precision")],
  { xaxis: { ...axis, title: { text: "recall: found of all" } },
    yaxis: { ...axis, title: { text: "precision: right answers" } } });
  draw("roc-plot", [curve(d.alarms, d.recall, "this model"), guess([0, 1], [0, 1]),
    ...marks("alarms", "recall")],
  { xaxis: { ...axis, title: { text: "false alarms among the others" } },
    yaxis: { ...axis, title: { text: "recall: found of all" } } });
}
