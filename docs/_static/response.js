// Turn the two scalars of a stacked filter and see what it lets through.
"use strict";

(() => {
  const { make, plot, stacked, slider, button, mount } = window.graphfilterPlots;
  const N = 48;
  // A slow wave (neighbours agree) and a fast one (neighbours disagree) on a ring.
  const SIGNAL = Array.from({ length: N }, (_, v) => 0.6 * Math.sin((4 * Math.PI * v) / N) + 0.35 * (v % 2 ? 1 : -1));
  const PRESETS = { "Low-pass": [0.8, 0.3, 15], "High-pass": [-0.8, 0.3, 15], "Flat": [0, 1, 15], "Its start": [0.5, 0.5, 16] };

  function filtered(alpha, beta, layers) {
    let h = SIGNAL;
    for (let layer = 0; layer < layers; layer += 1) {
      h = h.map((_, v) => (alpha * (h[(v + 1) % N] + h[(v + N - 1) % N])) / 2 + beta * SIGNAL[v]);
    }
    const largest = Math.max(...h.map(Math.abs)) || 1;
    return h.map((v) => v / largest);
  }

  mount("response", (place) => {
    const panels = make("div", { class: "gf-panels" }, place);
    const holders = ["The response", "A signal on a ring, before (dashed) and after"].map((title) => {
      const figure = make("figure", { class: "gf-panel" }, panels);
      make("p", { class: "gf-panel-title" }, figure, title);
      return figure;
    });
    const left = plot(holders[0], { label: "response of the filter over graph frequency", y: [-1, 1], ends: ["neighbours agree", "disagree"], ticks: [0, 1, 2] });
    const right = plot(holders[1], { label: "the signal before and after the filter", x: [0, N - 1], y: [-1, 1], ends: ["vertices of the ring", ""] });
    left.line("gf-axis", [[0, 0], [2, 0]]);
    const [curve, after] = [left.line("gf-curve", []), right.line("gf-curve", [])];
    right.line("gf-start", SIGNAL.map((v, i) => [i, v]));
    const controls = make("div", { class: "gf-controls" }, place);
    const alpha = slider(controls, "α", { min: -1, max: 1, step: 0.05, value: 0.8 }, draw);
    const beta = slider(controls, "β", { min: -1, max: 1, step: 0.05, value: 0.3 }, draw);
    const layers = slider(controls, "layers", { min: 1, max: 16, step: 1, value: 15 }, draw);
    const presets = make("div", { class: "gf-controls" }, place);
    for (const [name, [a, b, k]] of Object.entries(PRESETS)) {
      button(presets, name, () => { alpha.set(a); beta.set(b); layers.set(k); draw(); });
    }

    function draw() {
      const [a, b, k] = [alpha, beta, layers].map(({ input }) => Number(input.value));
      const sizes = Array.from({ length: 101 }, (_, i) => [i / 50, stacked(Array(k).fill(a), Array(k).fill(b), 1 - i / 50)]);
      const largest = Math.max(...sizes.map(([, v]) => Math.abs(v))) || 1;
      curve.setAttribute("d", left.path(sizes.map(([f, v]) => [f, v / largest])));
      after.setAttribute("d", right.path(filtered(a, b, k).map((v, i) => [i, v])));
    }
    draw();
  });
})();
