// How one setting learns its filter on three kinds of graph: the records in dynamics.js, played.
"use strict";

(() => {
  const { make, plot, shape, button, mount } = window.graphfilterPlots;
  const SECONDS = 7;
  const TITLES = { low: "Neighbours agree", middle: "Neighbours say nothing", high: "Neighbours disagree" };
  // By which of the low, middle and high frequencies pass, in the words of the report.
  const WORDS = {
    "100": "low-pass: it averages each vertex with its neighbours",
    "010": "band-pass: it keeps the middle frequencies",
    "001": "high-pass: it contrasts each vertex with its neighbours",
    "110": "a weak low-pass: it smooths each vertex's own features a little",
    "011": "a weak high-pass: it contrasts each vertex a little with its neighbours",
    "101": "band-stop: it drops what lies between agreement and contrast",
    "111": "nearly flat: it leaves the graph alone",
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

  // The rows of two records, one between the other.
  function mix(rows, at) {
    const [low, share] = [Math.floor(at), at - Math.floor(at)];
    const high = rows[Math.min(low + 1, rows.length - 1)];
    return rows[low].map((v, i) => v + share * (high[i] - v));
  }

  // As the report describes a response: a band passes if its mean is half of the strongest one's.
  function describe(points) {
    const bands = [[0, 0.6], [0.6, 1.3], [1.3, 2.001]];
    const means = bands.map(([from, to]) => {
      const sizes = points.filter(([f]) => f >= from && f < to).map(([, size]) => size);
      return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
    });
    return WORDS[means.map((mean) => (mean >= Math.max(...means) / 2 ? "1" : "0")).join("")];
  }

  function panel(parent, record) {
    const at = (share) => {
      const place = share * (record.epochs.length - 1);
      return { epoch: record.epochs[Math.round(place)], curve: shape(mix(record.alpha, place), mix(record.beta, place)) };
    };
    const figure = make("figure", { class: "gf-panel" }, parent);
    sketch(figure, record.kind);
    make("p", { class: "gf-panel-title" }, figure, TITLES[record.kind]);
    const accuracy = (100 * record.accuracy).toFixed(1);
    const learned = describe(at(1).curve);
    const label = `${NAMES[record.name]}: the learned filter is ${learned}; it labels ${accuracy} % of the test vertices rightly`;
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
    const words = make("span", { class: "gf-words" }, caption);
    const epoch = make("span", { class: "gf-epoch" }, caption);
    return (share) => {
      const now = at(share);
      curve.setAttribute("d", drawn.path(now.curve));
      const when = share === 0 ? "At the start" : share === 1 ? "Learned" : "So far";
      words.textContent = `${when}: ${describe(now.curve)}.`;
      epoch.textContent = `${counts}. Epoch ${now.epoch}; ${accuracy} % right in the end.`;
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
