/* Moves the marks of the explorers of One Gradient Step. Every number was computed in Python: this
   script only looks up the columns that belong to the sliders' positions and writes the path, as
   path() in onestep_lib/_svg.py does. It may run many times on a page; a figure is started once. */
(() => {
  const GAP = -32768;
  const unpack = (text) =>
    new Int16Array(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer);

  const PATHS = {
    line({ x, y }) {
      let text = "", pen = "M";
      for (let i = 0; i < y.length; i++) {
        if (x[i] === GAP || y[i] === GAP) pen = "M";
        else { text += pen + x[i] + " " + y[i]; pen = "L"; }
      }
      return text;
    },
    dots({ x, y }, { shape }) {
      let text = "";
      for (let i = 0; i < y.length; i++)
        if (x[i] !== GAP && y[i] !== GAP) text += "M" + x[i] + " " + y[i] + shape;
      return text;
    },
    error({ x, low, high }) {
      let text = "";
      for (let i = 0; i < x.length; i++)
        if (x[i] !== GAP && low[i] !== GAP && high[i] !== GAP)
          text += "M" + x[i] + " " + low[i] + "V" + high[i];
      return text;
    },
    bars({ x, y }, { base }) {
      let text = "";
      for (let i = 0; i < y.length; i++)
        if (y[i] !== GAP)
          text += "M" + x[i] + " " + base + "V" + y[i] + "H" + x[i + 1] + "V" + base + "z";
      return text;
    },
  };

  function start(figure) {
    figure.dataset.live = "";
    const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    const inputs = [...figure.querySelectorAll("input[type=range]")];
    const paths = figure.querySelectorAll("path[data-mark]");
    const values = figure.querySelectorAll(".os-readouts output");
    for (const mark of data.marks)
      for (const column of Object.values(mark.columns)) column.table = unpack(column.table);

    const row = (sliders) =>
      sliders.reduce((index, slider) => index * data.sliders[slider].length + +inputs[slider].value, 0);
    const pick = ({ table, sliders, points }) =>
      table.subarray(row(sliders) * points, (row(sliders) + 1) * points);

    function show() {
      inputs.forEach((input, i) => {
        const text = data.sliders[i][input.value];
        input.setAttribute("aria-valuetext", text);
        input.closest(".os-slider").querySelector("output").textContent = text;
      });
      data.marks.forEach((mark, i) => {
        const columns = {};
        for (const name in mark.columns) columns[name] = pick(mark.columns[name]);
        paths[i].setAttribute("d", PATHS[mark.kind](columns, mark));
      });
      data.readouts.forEach(({ texts, sliders }, i) => { values[i].textContent = texts[row(sliders)]; });
    }

    for (const input of inputs) input.addEventListener("input", show);
    figure.querySelector(".os-controls").hidden = false;
    figure.querySelector(".os-still").hidden = true;
    show();
  }

  document.querySelectorAll("figure.onestep-explorer:not([data-live])").forEach(start);
})();
