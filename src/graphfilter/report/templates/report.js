const data = JSON.parse(document.getElementById("data").textContent);
const many = asText(data.noun);

// With more classes the names would overlap; hovering shows them.
const MOST_NAMES = 24;
const percent = { tickformat: ".0%", range: [0, 1.02] };

function drawFilter() {
  const c = colours();
  const f = data.filter;
  if (!f) return;
  const slider = document.getElementById("epoch") ?? { value: 0 };
  const width = f.bins.length > 1 ? f.bins[1] - f.bins[0] : 2;
  const background = { yaxis: "y2", hoverinfo: "skip", type: "bar", width };
  const traces = [
    { ...background, x: f.bins, y: f.density, name: "all there is in this graph",
      marker: { color: c.faint, opacity: 0.22 } },
    ...(f.energy ? [{ ...background, x: f.bins, y: f.energy, name: "where the classes lie",
      marker: { color: c.orange, opacity: 0.28 } }] : []),
    ...f.members.map((y, i) => ({ x: f.x, y, mode: "lines", hoverinfo: "skip",
      name: "members", legendgroup: "members", showlegend: i === 0,
      line: { color: c.blue, width: 1 }, opacity: 0.35 })),
    { x: f.x, y: f.frames[0], mode: "lines", name: "before training", hoverinfo: "skip",
      line: { color: c.faint, dash: "dash", width: 1.5 } },
    { x: f.x, y: f.kept, mode: "lines", name: "kept", hoverinfo: "skip",
      line: { color: c.blue, width: 1.5, dash: "dot" } },
    { x: f.x, y: f.frames[slider.value], mode: "lines", name: "at the slider's epoch",
      line: { color: c.blue, width: 3.5 },
      hovertemplate: "frequency %{x:.2f}<br>response %{y:.3f}<extra></extra>" },
    { x: data.frequency.value, y: data.frequency.value.map(() => 0), mode: "markers",
      name: f.energy ? "a class" : "what is predicted", cliponaxis: false, text: data.frequency.names.map((n) => asText(n)),
      marker: { color: c.orange, symbol: "triangle-up", size: 10,
        line: { color: c.ground, width: 1 } },
      hovertemplate: "%{text}: %{x:.2f}<extra></extra>" },
  ];
  draw("filter-plot", traces, {
    xaxis: { title: { text: frequencyAxis() }, range: [-0.02, 2.02] },
    yaxis: { title: { text: "response f" }, zeroline: true },
    yaxis2: { overlaying: "y", side: "right", visible: false, rangemode: "tozero" },
    barmode: "overlay", bargap: 0,
  });
}

function moveSlider() {
  const slider = document.getElementById("epoch");
  if (!slider) return;
  const f = data.filter;
  const epoch = f.epochs[slider.value];
  const said = epoch === 0 ? "before training" : `epoch ${epoch}`;
  const text = epoch === f.kept_epoch ? `${said} (kept)` : said;
  document.getElementById("epoch-shown").textContent = text;
  slider.setAttribute("aria-valuetext", text);
  const plot = document.getElementById("filter-plot");
  const moving = plot.data.findIndex((trace) => trace.name === "at the slider's epoch");
  Plotly.restyle(plot, { y: [f.frames[slider.value]] }, [moving]);
}

function drawCoefficients() {
  const k = data.coefficients;
  if (!k) return;
  const layers = k.alpha.map((_, i) => i + 1);
  const most = Math.max(...k.alpha.concat(k.beta).flat().map(Math.abs));
  const heat = (z, name, yaxis) => ({ type: "heatmap", x: k.epochs, y: layers, z, yaxis,
    zmin: -most, zmax: most, colorscale: diverging(), showscale: yaxis === "y",
    colorbar: { thickness: 12, outlinewidth: 0 },
    hovertemplate: `epoch %{x}, layer %{y}<br>${name} = %{z:.3f}<extra></extra>` });
  const axis = layout().yaxis;
  draw("coefficient-plot", [heat(k.alpha, "α", "y"), heat(k.beta, "β", "y2")], {
    xaxis: { title: { text: "epoch" }, anchor: "y2" },
    yaxis: { title: { text: "α of layer" }, domain: [0.54, 1] },
    yaxis2: { ...axis, title: { text: "β of layer" }, domain: [0, 0.46] },
    shapes: [{ type: "line", x0: k.kept_epoch, x1: k.kept_epoch, y0: 0, y1: 1, yref: "paper",
      line: { color: colours().text, width: 1, dash: "dot" } }],
  });
}

function drawTraining() {
  const c = colours();
  const t = data.training;
  if (!t) return;
  const line = (y, name, color, more) => ({ x: t.epochs, y, name, mode: "lines",
    line: { color, width: 2 }, ...more });
  const traces = [
    line(t.train, `training ${t.score}`, c.blue),
    line(t.val, `validation ${t.score}`, c.orange),
    ...(t.monitored ? [line(t.monitored.values, `validation ${t.monitored.name}`, c.text)] : []),
    line(t.loss, "loss (right axis)", c.faint, { yaxis: "y2", line: { color: c.faint, dash: "dot" } }),
  ];
  // Where a score is no share, the first epochs may be far below what a mean would have.
  const lowest = Math.min(...t.train, ...t.val.filter((v) => v !== null));
  const axis = t.share ? percent
    : { title: { text: t.score }, range: [Math.max(-1, Math.min(0, lowest)), 1.02] };
  draw("training-plot", traces.filter((trace) => trace.y.some((v) => v !== null)), {
    margin: { l: 50, r: 46, t: 10, b: 46 },
    xaxis: { title: { text: "epoch" } }, yaxis: axis,
    yaxis2: { overlaying: "y", side: "right", showgrid: false,
      automargin: true, rangemode: "tozero", nticks: 5, tickmode: "auto", tickformat: ".2~f" },
    shapes: [{ type: "line", x0: t.kept_epoch, x1: t.kept_epoch, y0: 0, y1: 1, yref: "paper",
      line: { color: c.text, width: 1, dash: "dot" } }],
  });
}

function drawGraph() {
  const c = colours();
  const f = data.frequency;
  if (data.degrees) draw("degree-plot", [{ type: "bar", x: data.degrees.names, y: data.degrees.counts,
    marker: { color: c.blue }, hovertemplate: `%{x} neighbours: %{y:,} ${many}<extra></extra>` }],
  { xaxis: { title: { text: "neighbours" }, type: "category" }, yaxis: { title: { text: many } } });
  const names = f.names.map((name) => asText(name, 18));
  const away = (end) => f.value.map((v, i) => (f[end][i] === null || v === null ? 0
    : Math.max(0, end === "high" ? f.high[i] - v : v - f.low[i])));
  const band = (x0, x1, color) => ({ type: "rect", x0, x1, y0: 0, y1: 1, yref: "paper",
    layer: "below", line: { width: 0 }, fillcolor: color, opacity: 0.12 });
  draw("frequency-plot", [{ x: f.value, y: names.map((_, i) => i), mode: "markers", cliponaxis: false,
    error_x: { type: "data", array: away("high"), arrayminus: away("low"), color: c.faint },
    marker: { color: c.orange, size: 10, symbol: "triangle-up" }, text: names,
    hovertemplate: "%{text}: %{x:.2f}<extra></extra>" }],
  { xaxis: { title: { text: "label frequency: low | middle | high" }, range: [0, 2] },
    yaxis: { autorange: "reversed", tickvals: names.map((_, i) => i), ticktext: names, zeroline: false,
      showticklabels: names.length <= MOST_NAMES },
    shapes: [band(0, 0.6, c.blue), band(1.3, 2, c.orange)] });
}

function drawClasses() {
  const c = colours();
  const m = data.confusion;
  if (!m) return;
  const names = m.names.map((name) => asText(name, 18));
  const shares = m.counts.map((row) => {
    const sum = row.reduce((a, b) => a + b, 0);
    return row.map((n) => (sum ? n / sum : null));
  });
  const numbers = names.map((_, i) => i);
  const ticks = { tickvals: numbers, ticktext: names, showgrid: false, zeroline: false,
    showticklabels: names.length <= MOST_NAMES };
  const shown = names.length <= 15 && (window.innerWidth > 640 || names.length <= 7);
  draw("confusion-plot", [{ type: "heatmap", x: numbers, y: numbers, z: shares, text: m.counts,
    texttemplate: shown ? "%{text}" : "", customdata: m.counts.map((row, i) =>
      row.map((_, j) => `${names[i]} → ${names[j]}`)),
    zmin: 0, zmax: 1, colorscale: [[0, c.ground], [1, "#0072b2"]], showscale: false,
    hovertemplate: `%{customdata}<br>%{text} ${many}, %{z:.1%} of the row<extra></extra>` }],
  { xaxis: { ...ticks, title: { text: "predicted" }, side: "bottom" },
    yaxis: { ...ticks, title: { text: "is" }, autorange: "reversed" } });
  const k = data.calibration;
  const largest = Math.max(...k.count);
  draw("calibration-plot", [
    { x: [0, 1], y: [0, 1], mode: "lines", line: { color: c.faint, dash: "dash" },
      name: "as sure as it should be", hoverinfo: "skip" },
    { x: k.confidence, y: k.accuracy, mode: "lines+markers", name: "this model", cliponaxis: false, text: k.count,
      line: { color: c.blue }, marker: { color: c.blue,
        size: k.count.map((n) => 6 + 14 * Math.sqrt(n / largest)) },
      hovertemplate: `said %{x:.0%}, was %{y:.0%} of %{text} ${many}<extra></extra>` }],
  { xaxis: { ...percent, title: { text: "how sure it is" } },
    yaxis: { ...percent, title: { text: "how often it is right" } } });
}

function drawScatter() {
  const c = colours();
  (data.scatter ?? []).forEach((s, i) => {
    const ends = [Math.min(...s.observed, ...s.predicted), Math.max(...s.observed, ...s.predicted)];
    draw(`scatter-plot-${i}`, [
      { x: ends, y: ends, mode: "lines", name: "as observed", hoverinfo: "skip",
        line: { color: c.faint, dash: "dash" } },
      { x: s.observed, y: s.predicted, mode: "markers", name: many, cliponaxis: false,
        text: s.ids.map((id) => asText(id)),
        marker: { color: c.blue, size: 6, opacity: s.observed.length > 500 ? 0.35 : 0.6 },
        hovertemplate: "%{text}<br>observed %{x:.4g}, predicted %{y:.4g}<extra></extra>" },
    ], { xaxis: { title: { text: "observed" } }, yaxis: { title: { text: "predicted" } } });
  });
}

// Told apart by the colour-blind (Okabe and Ito); further classes are one.
const CLASS_COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

// The value at a share of the sorted ones: one that is far from all others takes no colours.
const quantile = (values, share) => {
  const sorted = values.filter((v) => v !== null).sort((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))] ?? 0;
};

function drawMap() {
  const m = data.map;
  if (!m) return;
  const c = colours();
  const bare = { showgrid: false, zeroline: false, showticklabels: false, showline: false,
    constrain: "domain" };
  // Degrees of latitude and longitude are as long as each other at the equator only.
  const [east, north] = m.latitude ? [1, 0] : [0, 1];
  const high = quantile(m.all.at[north], 0.5);
  const ratio = m.latitude && Math.abs(high) < 85 ? 1 / Math.cos(high * Math.PI / 180) : 1;
  const frame = { xaxis: bare, yaxis: { ...bare, scaleanchor: "x", scaleratio: ratio },
    margin: { l: 4, r: 4, t: 4, b: 4 }, legend: { orientation: "h", y: -0.02, x: 0, yanchor: "top" } };
  const plot = (at, values, say, marker, some = () => true, more = {}) => {
    const own = values.map((v, i) => i).filter((i) => at.at[0][i] !== null && at.at[1][i] !== null
      && values[i] !== null && some(values[i]));
    return { type: "scatter", mode: "markers", x: own.map((i) => at.at[east][i]),
      y: own.map((i) => at.at[north][i]),
      text: own.map((i) => `${asText(at.ids[i])}: ${say(values[i])}`),
      hovertemplate: "%{text}<extra></extra>", showlegend: false, ...more,
      marker: { size: values.length > 1000 ? 4 : 6, ...marker(own.map((i) => values[i])) } };
  };
  const short = (v) => Number(v.toPrecision(4)).toLocaleString("en");
  const bar = { thickness: 10, outlinewidth: 0, len: 0.8 };
  m.layers.forEach((layer, i) => {
    for (const kind of ["known", "says", "missed"]) {
      const at = kind === "missed" ? m.judged : m.all;
      const values = layer[kind];
      let traces;
      if (m.classes && kind === "missed") {
        traces = [[false, c.faint, "right"], [true, c.orange, "wrong"]].map(([wrong, color, name]) =>
          plot(at, values, () => name, () => ({ color }), (v) => v === wrong,
            { name, showlegend: true }));
      } else if (m.classes) {
        const shown = m.classes.slice(0, CLASS_COLOURS.length).map((name, k) => [name, CLASS_COLOURS[k],
          (v) => v === k]);
        if (m.classes.length > shown.length) {
          shown.push(["others", c.faint, (v) => v >= CLASS_COLOURS.length]);
        }
        traces = shown.map(([name, color, some]) => plot(at, values, (v) => asText(m.classes[v]),
          () => ({ color }), some, { name: asText(name, 18), showlegend: true }));
      } else if (kind === "missed") {
        const most = quantile(values.map(Math.abs), 0.95) || 1;
        traces = [plot(at, values, (v) => `${v > 0 ? "+" : ""}${short(v)}`, (color) => ({ color,
          cmin: -most, cmax: most, showscale: true, colorbar: bar, line: { color: c.line, width: 0.5 },
          colorscale: diverging() }))];
      } else {
        const all = layer.known.concat(layer.says);
        traces = [plot(at, values, short, (color) => ({ color, cmin: quantile(all, 0.05),
          cmax: quantile(all, 0.95), showscale: true, colorbar: bar, colorscale: "Viridis" }))];
      }
      draw(`map-${i}-${kind}`, traces, frame);
    }
  });
}

function drawAll() {
  drawFilter(); moveSlider(); drawCoefficients(); drawTraining(); drawGraph(); drawClasses(); drawDecision(); drawScatter(); drawMap();
}

document.getElementById("epoch")?.addEventListener("input", moveSlider);
offerSaving();
startPage(drawAll);
