"use strict";
// What the report's and the studio's pictures share.

const colours = () => {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ground: of("ground"), line: of("line"), text: of("text"), faint: of("faint"),
    blue: of("blue"), orange: of("orange") };
};

// Plotly reads a little HTML in labels: names that users gave are shown as they are.
const asText = (name, most = 40) => {
  const cut = String(name).length > most ? `${String(name).slice(0, most - 1)}…` : String(name);
  return cut.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
};

const frequencyAxis = () => (window.innerWidth < 640 ? "0: neighbours agree, 2: they differ"
  : "graph frequency (0: neighbours agree, 2: they differ)");

const layout = (changes = {}) => {
  const c = colours();
  const narrow = window.innerWidth < 640;
  const axis = { gridcolor: c.line, zerolinecolor: c.line, linecolor: c.line, automargin: true,
    fixedrange: narrow };
  const { xaxis, yaxis, ...rest } = changes;
  const titled = (own) => (own?.title ? { ...own, title: { standoff: 8, ...own.title } } : own);
  return {
    font: { color: c.text, family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 50, r: 12, t: 10, b: 46 },
    legend: { orientation: "h", y: narrow ? -0.3 : -0.26, x: 0, yanchor: "top" },
    hoverlabel: { bgcolor: c.ground, bordercolor: c.line, font: { color: c.text } },
    xaxis: { ...axis, ...titled(xaxis) }, yaxis: { ...axis, ...titled(yaxis) },
    dragmode: narrow ? false : "zoom",
    ...rest,
  };
};

const CONFIG = { responsive: true, displaylogo: false, displayModeBar: false, showTips: false };

const draw = (id, traces, changes) => {
  const place = document.getElementById(id);
  if (place) Plotly.react(place, traces, layout(changes), CONFIG);
};

// Blue, ground, orange: told apart by the colour-blind, and 0 fades into the page.
const diverging = () => {
  const c = colours();
  return [[0, "#0072b2"], [0.5, c.ground], [1, "#d55e00"]];
};

const theme = {
  wanted: () => {
    const said = document.documentElement.dataset.chosen;
    if (said) return said;
    return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  },
  apply: (name, redraw) => {
    document.documentElement.dataset.theme = name;
    redraw();
  },
  start: (redraw) => {
    const follow = () => theme.apply(theme.wanted(), redraw);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", follow);
    document.getElementById("theme")?.addEventListener("click", () => {
      const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
      document.documentElement.dataset.chosen = next;
      follow();
    });
    follow();
  },
};
