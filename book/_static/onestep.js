// What scrolls sideways can be reached by keyboard, also after a turn of the phone; paper gets all of a page.
(() => {
  const scrolls = (element) =>
    element.scrollWidth > element.clientWidth &&
    /auto|scroll/.test(getComputedStyle(element).overflowX);
  const reachable = (element) => element.querySelector("a[href], button, input, summary, select");

  // At which sides of an element there is more of it: onestep.css fades it there.
  const sides = (element) => {
    const { scrollLeft, scrollWidth, clientWidth } = element;
    const more = [];
    if (scrollLeft > 1) more.push("left");
    if (scrollLeft < scrollWidth - clientWidth - 1) more.push("right");
    element.dataset.more = more.join(" ");
  };
  addEventListener("scroll", ({ target }) => {
    if (target.dataset?.more !== undefined) sides(target);
  }, { capture: true, passive: true });

  // A formula in the text cannot break; one that is wider than its line scrolls.
  const widen = () => {
    for (const formula of document.querySelectorAll('main mjx-container:not([display="true"])')) {
      formula.classList.remove("onestep-wide");
      const line = formula.closest("p, li, dd, td, figcaption, div");
      const room = line.clientWidth - parseFloat(getComputedStyle(line).paddingLeft);
      const whole = formula.closest(".onestep-together") ?? formula;
      if (line.clientWidth && whole.getBoundingClientRect().width > room + 1)
        formula.classList.add("onestep-wide");
    }
  };

  // A displayed formula that is a little wider than its column is set smaller; one that is much wider scrolls.
  const SMALLEST = 0.75;
  const fit = () => {
    for (const formula of document.querySelectorAll('main mjx-container[display="true"]')) {
      const room = formula.clientWidth;
      if (!room || !formula.querySelector("mjx-math") || formula.dataset.room === `${room}`) continue;
      formula.dataset.size ??= formula.style.fontSize || "100%";
      const whole = parseFloat(formula.dataset.size);
      const set = (size) => { formula.style.fontSize = `${size}%`; };
      set(whole);
      // Twice, because the space beside a formula does not shrink with it.
      let size = whole;
      for (let tries = 0; tries < 2 && formula.scrollWidth > formula.clientWidth; tries++)
        set((size *= (0.98 * formula.clientWidth) / formula.scrollWidth));
      if (size < SMALLEST * whole) set(whole);
      formula.dataset.room = `${formula.clientWidth}`;
    }
  };

  // On a phone a picture is a button: it shows the picture as large as it was drawn, in a box that scrolls.
  const phone = matchMedia("(max-width: 600px)");
  const enlarge = () => {
    for (const picture of document.querySelectorAll("main figure img[width]")) {
      const box = picture.closest(".onestep-picture");
      if (phone.matches && !box) {
        const made = document.createElement("div"), button = document.createElement("button");
        made.className = "onestep-picture";
        button.type = "button"; // its name is the picture's description
        button.setAttribute("aria-expanded", "false");
        button.addEventListener("click", () => {
          button.setAttribute("aria-expanded", button.getAttribute("aria-expanded") === "false");
        });
        picture.replaceWith(made);
        made.append(button);
        button.append(picture);
      } else if (!phone.matches && box) box.replaceWith(picture);
    }
  };

  const update = () => {
    enlarge();
    widen();
    fit();
    const candidates =
      "mjx-container, div.math, pre, .cell_output .output, .pst-scrollable-table-container, table, dl dt";
    for (const element of document.querySelectorAll(`main :is(${candidates})`)) {
      const wide = scrolls(element), needed = wide && !reachable(element);
      if (wide) sides(element);
      else delete element.dataset.more;
      if (needed && !element.hasAttribute("tabindex")) {
        element.tabIndex = 0;
        element.dataset.scrolls = "";
      } else if (!needed && element.dataset.scrolls === "") {
        element.removeAttribute("tabindex");
        delete element.dataset.scrolls;
      }
    }
  };

  // MathJax 3.2.2 forgets a formula that comes near the window while others are being set: whenever it says that it
  // has done, it is asked for those that wait. And a page that is never idle shall show its formulas too.
  const forgetNone = (formulas) => {
    if (!formulas?.lazySet) return;
    const whenIdle = (act) => (window.requestIdleCallback ? requestIdleCallback(act, { timeout: 200 }) : setTimeout(act, 10));
    formulas.lazyProcessSet = () => whenIdle(() => formulas.lazyHandleSet());
    let busy = formulas.lazyIdle; // what MathJax calls idle is that it waits for an idle moment
    const next = () => {
      if (busy || !formulas.lazySet.size) return;
      busy = true;
      formulas.lazyProcessSet();
    };
    Object.defineProperty(formulas, "lazyIdle", {
      get: () => busy,
      set: (value) => {
        busy = value;
        next();
      },
    });
    next(); // those that were forgotten already
  };

  let waiting;
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 100);
  };
  addEventListener("resize", soon);
  addEventListener("load", () => {
    update();
    // Formulas get their width when MathJax has set them, near the window, and its fonts are there.
    window.MathJax?.startup?.promise?.then(() => {
      forgetNone(MathJax.startup.document);
      new MutationObserver(soon).observe(document.querySelector("main"), { childList: true, subtree: true });
      document.fonts.ready.then(update);
    });
  });
  document.addEventListener("toggle", soon, true);
  // A box that the theme unfolds changes its class only.
  document.addEventListener("click", ({ target }) => {
    if (target.closest(".admonition")) soon();
  });

  // Paper: open what is folded (bars of hidden code may stay), light colours, and no formula wider than the page.
  const FOLDED = "main details:not([open]):not(.tag_hide-input > details):not(.tag_hide-cell > details)";
  const LINE = 670, WIDE = 620; // CSS pixels of a line on A4, and of one beside an equation's number
  let undo = [];
  addEventListener("beforeprint", () => {
    const root = document.documentElement, theme = root.dataset.theme;
    root.dataset.theme = "light";
    undo.push(() => { root.dataset.theme = theme; });
    for (const part of document.querySelectorAll(FOLDED)) {
      part.open = true;
      undo.push(() => { part.open = false; });
    }
    for (const formula of document.querySelectorAll('main mjx-container[display="true"]')) {
      const size = formula.style.fontSize, whole = formula.dataset.size ?? size;
      undo.push(() => { formula.style.fontSize = size; });
      formula.style.fontSize = whole; // `fit` may have set it smaller, for a phone
      const width = formula.querySelector("mjx-math")?.scrollWidth || 0;
      if (width > WIDE) formula.style.fontSize = `${(parseFloat(whole) || 100) * WIDE / width}%`;
    }
    for (const table of document.querySelectorAll("main .pst-scrollable-table-container > table")) {
      if (table.scrollWidth <= Math.max(LINE, table.parentElement.clientWidth + 1)) continue;
      table.style.zoom = LINE / table.scrollWidth;
      undo.push(() => { table.style.zoom = ""; });
    }
  });
  addEventListener("afterprint", () => {
    undo.forEach((step) => step());
    undo = [];
  });
})();
