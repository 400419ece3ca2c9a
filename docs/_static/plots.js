// Small SVG plots for the pages: axes, lines and the response of a stacked filter. No library.
"use strict";

window.graphfilterPlots = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const BOX = { width: 320, height: 210, left: 12, right: 12, top: 12, bottom: 42 };
  const FREQUENCIES = Array.from({ length: 101 }, (_, i) => i / 50);

  function make(tag, attributes = {}, parent = null, text = "") {
    const drawn = ["svg", "g", "path", "line", "circle", "rect", "text", "title"].includes(tag);
    const element = drawn ? document.createElementNS(SVG, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text) element.textContent = text;
    if (parent) parent.append(element);
    return element;
  }

  // An empty plot over 0..2 (graph frequency) and 0..1, or the ranges given.
  function plot(parent, { x = [0, 2], y = [0, 1], label, ends, ticks = [] } = {}) {
    const { width, height, left, right, top, bottom } = BOX;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, class: "gf-plot", role: "img" }, parent);
    svg.setAttribute("aria-label", label);
    const toX = (v) => left + ((v - x[0]) / (x[1] - x[0])) * (width - left - right);
    const toY = (v) => height - bottom - ((v - y[0]) / (y[1] - y[0])) * (height - top - bottom);
    make("line", { class: "gf-axis", x1: left, x2: width - right, y1: toY(y[0]), y2: toY(y[0]) }, svg);
    for (const tick of ticks) {
      const anchor = tick === x[0] ? "start" : tick === x[1] ? "end" : "middle";
      make("text", { class: "gf-tick", x: toX(tick), y: height - 26, "text-anchor": anchor }, svg, String(tick));
    }
    if (ends) {
      make("text", { class: "gf-tick", x: left, y: height - 8 }, svg, ends[0]);
      make("text", { class: "gf-tick", x: width - right, y: height - 8, "text-anchor": "end" }, svg, ends[1]);
    }
    const path = (points) => points.map(([a, b], i) => `${i ? "L" : "M"}${toX(a).toFixed(1)} ${toY(b).toFixed(1)}`).join("");
    const line = (name, points) => make("path", { class: name, d: path(points) }, svg);
    return { svg, toX, toY, path, line };
  }

  // f at an eigenvalue of the operator: h <- alpha lambda h + beta, from 1.
  function stacked(alpha, beta, eigenvalue) {
    return alpha.reduce((h, a, layer) => a * eigenvalue * h + beta[layer], 1);
  }

  // |f| over graph frequency, as a share of its largest value: the layer after it undoes scale and sign.
  function shape(alpha, beta) {
    const sizes = FREQUENCIES.map((f) => Math.abs(stacked(alpha, beta, 1 - f)));
    const largest = Math.max(...sizes) || 1;
    return FREQUENCIES.map((f, i) => [f, sizes[i] / largest]);
  }

  function slider(parent, name, { min, max, step, value }, onInput) {
    const label = make("label", { class: "gf-slider" }, parent);
    const said = make("span", {}, label);
    const input = make("input", { type: "range", min, max, step, value, "aria-label": name }, label);
    const tell = () => { said.textContent = `${name} ${input.value}`; };
    input.addEventListener("input", () => { tell(); onInput(); });
    tell();
    return { input, set: (to) => { input.value = to; tell(); } };
  }

  function button(parent, name, onClick) {
    const made = make("button", { type: "button", class: "gf-button" }, parent, name);
    made.addEventListener("click", onClick);
    return made;
  }

  function mount(kind, build) {
    const start = () => document.querySelectorAll(`[data-plot="${kind}"]`).forEach((place) => {
      place.replaceChildren();
      build(place);
    });
    if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
    else start();
  }

  return { make, plot, stacked, shape, slider, button, mount };
})();
