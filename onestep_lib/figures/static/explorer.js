/* Moves the marks of the explorers of One Gradient Step. Every number was computed in Python: this
   script only looks up the columns that belong to the sliders' positions and writes the path, as
   path() in onestep_lib/figures/svg.py does. It may run many times on a page; a figure is started once. */
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

  /* A control of one slider: where it stands, how to move it, how to say where it stands. */
  function control(box) {
    const radios = [...box.querySelectorAll("input[type=radio]")];
    if (radios.length)
      return {
        get: () => radios.findIndex((radio) => radio.checked),
        set: (position) => { radios[position].checked = true; },
        say: () => {},
      };
    const input = box.querySelector("input, select"), output = box.querySelector("output");
    return {
      get: () => +input.value,
      set: (position) => { input.value = position; },
      say: (text) => {
        if (!output) return;
        input.setAttribute("aria-valuetext", text);
        output.textContent = text;
      },
    };
  }

  function start(figure) {
    figure.dataset.live = "";
    while (document.getElementById(figure.id) !== figure) figure.id += "-again";
    const find = (selector) => [...figure.querySelectorAll(selector)];
    const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    const controls = find(".os-slider").map(control), first = controls.map((one) => one.get());
    const paths = find("path[data-mark]"), values = find(".os-readouts b");
    const pictures = find(".os-panel > svg"), said = figure.querySelector(".os-said");
    const still = figure.querySelector(".os-still");
    for (const mark of data.marks)
      for (const column of Object.values(mark.columns)) column.table = unpack(column.table);

    let at = first;
    const row = (sliders) =>
      sliders.reduce((index, slider) => index * data.sliders[slider].texts.length + at[slider], 0);
    const pick = ({ table, sliders, points }) =>
      table.subarray(row(sliders) * points, (row(sliders) + 1) * points);

    function show() {
      at = controls.map((one) => one.get());
      const chosen = data.sliders.map(({ texts }, i) => texts[at[i]]);
      controls.forEach((one, i) => one.say(chosen[i]));
      data.marks.forEach((mark, i) => {
        const columns = {};
        for (const name in mark.columns) columns[name] = pick(mark.columns[name]);
        paths[i].setAttribute("d", PATHS[mark.kind](columns, mark));
      });
      const told = data.readouts.map(({ texts, sliders }) => texts[row(sliders)]);
      /* What stays the same is not written, or it would be announced again. */
      told.forEach((text, i) => { if (values[i].textContent !== text) values[i].textContent = text; });
      const shown = "Shown for " + data.sliders.map(({ label }, i) => label + " = " + chosen[i]).join("; ") + ".";
      still.textContent = shown;
      const state = shown + (told.length ? " " + data.readouts.map(({ label }, i) => label + ": " + told[i]).join("; ") + "." : "");
      pictures.forEach((picture, i) => picture.setAttribute("aria-label", data.alts[i] + " " + state));
      said.textContent = "";
    }
    function move(positions) {
      controls.forEach((one, i) => one.set(positions[i]));
      show();
    }

    /* A state has an address: #id?slider=value&..., by values, which outlive another choice of stops. */
    const address = () => "#" + figure.id + "?" + new URLSearchParams(
      data.sliders.map(({ name, texts }, i) => [name, texts[at[i]]]));
    function follow() {
      const [id, query] = location.hash.slice(1).split("?");
      if (id !== figure.id || !query) return;
      const asked = new URLSearchParams(query);
      move(data.sliders.map(({ name, texts }, i) => {
        const position = texts.indexOf(asked.get(name));
        return position < 0 ? first[i] : position;
      }));
      figure.scrollIntoView();
    }
    async function copy() {
      history.replaceState(null, "", address());
      try {
        await navigator.clipboard.writeText(location.href);
        said.textContent = "The link is copied.";
      } catch {
        said.textContent = "The link is in the address bar.";
      }
    }

    const form = figure.querySelector(".os-controls");
    form.addEventListener("input", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    figure.querySelector(".os-reset").addEventListener("click", () => move(first));
    figure.querySelector(".os-link").addEventListener("click", copy);
    form.hidden = figure.querySelector(".os-buttons").hidden = false;
    still.hidden = true;  /* but on paper */
    show();
    follow();
    addEventListener("hashchange", follow);
    /* A second click on a link leaves the address as it is. */
    addEventListener("click", ({ target }) => {
      if (target.closest(`a[href^="#${figure.id}?"]`)?.hash === location.hash) follow();
    });
    addEventListener("load", follow);
  }

  document.querySelectorAll("figure.onestep-explorer:not([data-live])").forEach(start);
})();
