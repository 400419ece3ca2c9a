// Every picture can be saved, as PNG or SVG, on the ground of the page instead of see-through.

async function savePlot(place, format) {
  const ground = colours().ground;
  const figure = { data: place.data,
    layout: { ...place.layout, paper_bgcolor: ground, plot_bgcolor: ground } };
  const size = { width: place.clientWidth, height: place.clientHeight };
  const link = document.createElement("a");
  link.href = await Plotly.toImage(figure, { format, scale: format === "png" ? 3 : 1, ...size });
  link.download = `${document.querySelector("h1").textContent}-${place.id}.${format}`;
  link.click();
}

function offerSaving() {
  for (const place of document.querySelectorAll(".plot")) {
    const tools = document.createElement("div");
    tools.className = "tools save";
    const name = place.id.replace("-plot", "").replace(/-/g, " ");
    for (const format of ["png", "svg"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = format.toUpperCase();
      button.setAttribute("aria-label", `Save the ${name} plot as ${format.toUpperCase()}`);
      button.addEventListener("click", () => savePlot(place, format));
      tools.append(button);
    }
    place.after(tools);
  }
}
