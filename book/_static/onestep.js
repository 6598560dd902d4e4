// What scrolls sideways can be reached by keyboard, also after a turn of the phone.
(() => {
  const scrolls = (element) =>
    element.scrollWidth > element.clientWidth + 1 &&
    /auto|scroll/.test(getComputedStyle(element).overflowX);
  const reachable = (element) => element.querySelector("a[href], button, input, summary, select");

  // A formula in the text cannot break; one that is wider than its line scrolls.
  const widen = () => {
    for (const formula of document.querySelectorAll('main mjx-container:not([display="true"])')) {
      formula.classList.remove("onestep-wide");
      const line = formula.closest("p, li, dd, td, figcaption, div");
      const room = line.clientWidth - parseFloat(getComputedStyle(line).paddingLeft);
      if (line.clientWidth && formula.getBoundingClientRect().width > room + 1)
        formula.classList.add("onestep-wide");
    }
  };

  const update = () => {
    widen();
    const candidates =
      "mjx-container, div.math, pre, .cell_output .output, .pst-scrollable-table-container, table, dl dt";
    for (const element of document.querySelectorAll(`main :is(${candidates})`)) {
      const needed = scrolls(element) && !reachable(element);
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
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, 100);
  });
  addEventListener("load", () => {
    update();
    // Formulas get their width when MathJax has set them and its fonts are there.
    window.MathJax?.startup?.promise?.then(update).then(() => document.fonts.ready.then(update));
  });
  document.addEventListener("toggle", update, true);
})();
