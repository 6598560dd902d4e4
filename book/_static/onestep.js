// What scrolls sideways can be reached by keyboard, also after a turn of the phone; paper gets all of a page.
(() => {
  // Names of buttons: the theme gives some none, and others one that differs from the words on them.
  for (const arrow of document.querySelectorAll("summary:has(> .toctree-toggle)"))
    arrow.ariaLabel = "Show or hide the pages of this part";
  for (const button of document.querySelectorAll('.search-button-field, summary[aria-label="Toggle hidden content"]'))
    button.removeAttribute("aria-label");

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
    const candidates =
      ".katex-display, pre, .cell_output .output, .pst-scrollable-table-container, table, dl dt";
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

  let waiting;
  const soon = () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 100);
  };
  addEventListener("resize", soon);
  addEventListener("load", () => {
    update();
    document.fonts.ready.then(update);
  });
  document.addEventListener("toggle", soon, true);
  // A box that the theme unfolds changes its class only.
  document.addEventListener("click", ({ target }) => {
    if (target.closest(".admonition")) soon();
  });

  // Paper: open what is folded (bars of hidden code may stay), light colours, and no formula wider than the page.
  const FOLDED = "main details:not([open]):not(.tag_hide-input > details)";
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
    for (const formula of document.querySelectorAll("main .katex-display")) {
      if (formula.scrollWidth <= WIDE) continue;
      formula.style.fontSize = `${WIDE / formula.scrollWidth}em`;
      undo.push(() => { formula.style.fontSize = ""; });
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
