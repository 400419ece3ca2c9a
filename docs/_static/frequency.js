// Label a small graph and watch its label frequency.
"use strict";

(() => {
  const { make, button, mount } = window.graphfilterPlots;
  const N = 12;
  const EDGES = Array.from({ length: N }, (_, i) => [i, (i + 1) % N]).concat([[0, 3], [6, 9], [2, 11], [5, 8]]);
  const DEGREE = Array.from({ length: N }, (_, v) => EDGES.filter((edge) => edge.includes(v)).length);
  const PRESETS = {
    "Two camps": (v) => (v < 6 ? 1 : -1),
    "Alternate": (v) => (v % 2 ? 1 : -1),
    "Mixed": (v) => ([0, 1, 4, 5, 8, 10].includes(v) ? 1 : -1),
  };

  // y' L y / y' y of the signed labels, L = I - D^-1/2 A D^-1/2, as a sum over edges.
  function frequency(y) {
    const scaled = y.map((v, i) => v / Math.sqrt(DEGREE[i]));
    return EDGES.reduce((sum, [a, b]) => sum + (scaled[a] - scaled[b]) ** 2, 0) / N;
  }

  mount("frequency", (place) => {
    const y = Array.from({ length: N }, (_, v) => PRESETS["Two camps"](v));
    const svg = make("svg", { viewBox: "0 0 360 250", class: "gf-graph", role: "group", "aria-label": "a graph of twelve vertices" }, place);
    const at = (v) => [180 + 130 * Math.cos((2 * Math.PI * v) / N), 125 + 100 * Math.sin((2 * Math.PI * v) / N)];
    const edges = EDGES.map(([a, b]) => {
      const [[x1, y1], [x2, y2]] = [at(a), at(b)];
      return make("line", { x1, y1, x2, y2 }, svg);
    });
    const vertices = y.map((_, v) => {
      const [cx, cy] = at(v);
      const circle = make("circle", { cx, cy, r: 13, tabindex: 0, role: "button" }, svg);
      const flip = () => { y[v] = -y[v]; draw(); };
      circle.addEventListener("click", flip);
      circle.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        flip();
      });
      return circle;
    });
    const scale = make("div", { class: "gf-scale" }, place);
    const mark = make("i", {}, scale);
    const words = make("p", { class: "gf-said", role: "status" }, place);
    const controls = make("div", { class: "gf-controls" }, place);
    for (const [name, label] of Object.entries(PRESETS)) {
      button(controls, name, () => { y.forEach((_, v) => { y[v] = label(v); }); draw(); });
    }

    function draw() {
      const value = frequency(y);
      const across = EDGES.filter(([a, b]) => y[a] !== y[b]).length;
      edges.forEach((edge, i) => edge.setAttribute("class", y[EDGES[i][0]] === y[EDGES[i][1]] ? "gf-edge" : "gf-edge gf-across"));
      vertices.forEach((circle, v) => {
        circle.setAttribute("class", y[v] > 0 ? "gf-one" : "gf-other");
        circle.setAttribute("aria-label", `vertex ${v + 1}, class ${y[v] > 0 ? "blue" : "orange"}`);
      });
      mark.style.left = `${50 * value}%`;
      words.textContent = `Label frequency ${value.toFixed(2)}: ${across} of ${EDGES.length} edges join different classes.`;
    }
    draw();
  });
})();
