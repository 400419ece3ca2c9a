// How one setting learns its filter on three kinds of graph: the records in dynamics.js, played.
"use strict";

(() => {
  const { make, plot, shape, button, mount } = window.graphfilterPlots;
  const SECONDS = 7;
  const ABOUT = {
    low: { title: "Neighbours agree", words: "low-pass: it averages each vertex with its neighbours" },
    middle: { title: "Neighbours say nothing", words: "flat: it leaves the graph alone" },
    high: { title: "Neighbours disagree", words: "high-pass: it contrasts each vertex with its neighbours" },
  };
  const NAMES = { digits: "handwritten digits", csbm: "a random graph", bipartite: "a bipartite graph" };
  // Sketches of the three kinds: eight vertices, the first four of one class.
  const PLACES = {
    low: [[8, 10], [26, 6], [12, 28], [30, 24], [62, 10], [80, 8], [66, 30], [82, 26]],
    middle: [[8, 12], [48, 4], [30, 32], [82, 12], [28, 8], [64, 8], [60, 34], [12, 34]],
    high: [[10, 6], [34, 6], [58, 6], [82, 6], [10, 32], [34, 32], [58, 32], [82, 32]],
  };
  const LINES = {
    low: [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [4, 5], [4, 6], [5, 6], [5, 7], [6, 7], [3, 4]],
    middle: [[0, 4], [0, 2], [4, 1], [1, 5], [2, 6], [5, 3], [6, 3], [7, 2], [4, 7], [1, 2], [5, 6]],
    high: [[0, 4], [0, 5], [1, 4], [1, 6], [2, 5], [2, 7], [3, 6], [3, 7], [1, 5], [2, 6]],
  };

  function sketch(parent, kind) {
    const svg = make("svg", { viewBox: "0 0 90 40", class: "gf-sketch", "aria-hidden": "true" }, parent);
    for (const [a, b] of LINES[kind]) {
      const [[x1, y1], [x2, y2]] = [PLACES[kind][a], PLACES[kind][b]];
      make("line", { class: "gf-edge", x1, y1, x2, y2 }, svg);
    }
    PLACES[kind].forEach(([cx, cy], i) => make("circle", { class: i < 4 ? "gf-one" : "gf-other", cx, cy, r: 4 }, svg));
  }

  function panel(parent, record) {
    const about = ABOUT[record.kind];
    const figure = make("figure", { class: "gf-panel" }, parent);
    sketch(figure, record.kind);
    make("p", { class: "gf-panel-title" }, figure, about.title);
    const accuracy = (100 * record.accuracy).toFixed(1);
    const label = `${NAMES[record.name]}: the learned filter is ${about.words}; it labels ${accuracy} % of the test vertices rightly`;
    const drawn = plot(figure, { label, ends: ["neighbours agree", "disagree"], ticks: [0, 1, 2] });
    const most = Math.max(...record.energy);
    const width = 2 / record.energy.length;
    record.energy.forEach((value, i) => {
      const [x, next, y] = [drawn.toX(i * width), drawn.toX((i + 1) * width), drawn.toY(value / most)];
      make("rect", { class: "gf-energy", x, y, width: next - x, height: drawn.toY(0) - y }, drawn.svg);
    });
    drawn.line("gf-start", shape(record.alpha[0], record.beta[0]));
    const curve = drawn.line("gf-curve", []);
    const caption = make("figcaption", {}, figure);
    const counts = `${NAMES[record.name]}, ${record.vertices.toLocaleString("en")} vertices`;
    make("span", { class: "gf-words" }, caption, `Learned: ${about.words}.`);
    const epoch = make("span", { class: "gf-epoch" }, caption);
    const mix = (rows, at) => {
      const [low, share] = [Math.floor(at), at - Math.floor(at)];
      const high = rows[Math.min(low + 1, rows.length - 1)];
      return rows[low].map((v, i) => v + share * (high[i] - v));
    };
    return (share) => {
      const at = share * (record.epochs.length - 1);
      curve.setAttribute("d", drawn.path(shape(mix(record.alpha, at), mix(record.beta, at))));
      epoch.textContent = `${counts}. Epoch ${record.epochs[Math.round(at)]}; ${accuracy} % right in the end.`;
    };
  }

  mount("dynamics", (place) => {
    const panels = make("div", { class: "gf-panels" }, place);
    const draw = window.graphfilterDynamics.map((record) => panel(panels, record));
    const controls = make("div", { class: "gf-controls" }, place);
    const play = button(controls, "Play", () => (playing ? stop() : begin()));
    const input = make("input", { type: "range", min: 0, max: 1, step: 0.001, "aria-label": "share of training" }, controls);
    const show = (share) => { input.value = share; draw.forEach((at) => at(share)); };
    let playing = 0;
    const stop = () => {
      cancelAnimationFrame(playing);
      playing = 0;
      play.textContent = Number(input.value) < 1 ? "Play" : "Play again";
    };
    const begin = () => {
      const first = Number(input.value) < 1 ? Number(input.value) : 0;
      play.textContent = "Pause";
      let started = null;
      const step = (now) => {
        started ??= now;
        const share = Math.min(1, first + (now - started) / (1000 * SECONDS));
        show(share);
        if (share < 1) playing = requestAnimationFrame(step);
        else stop();
      };
      playing = requestAnimationFrame(step);
    };
    input.addEventListener("input", () => { stop(); show(Number(input.value)); });
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      show(1);
      stop();
      return;
    }
    show(0);
    const watch = new IntersectionObserver((seen) => {
      if (!seen.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      begin();
    }, { threshold: 0.3 });
    watch.observe(panels);
  });
})();
