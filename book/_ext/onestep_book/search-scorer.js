// Sphinx reads this in place of its own scores: those, and a word about which pages explain.
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
  score: ([page, , , , score]) => {
    if (/^book\/\d\d-/.test(page)) return score + 20;
    return /^book\/api\b/.test(page) ? score - 10 : score;
  },
};
// A formula stands on a page three times: as MathML, as its TeX and as it looks. The last is what one reads.
// And an anchor that holds a point, as names of the library do, is no selector.
addEventListener("DOMContentLoaded", () => {
  const { htmlToText } = Search;
  Search.htmlToText = (html, anchor) => {
    const page = new DOMParser().parseFromString(html, "text/html");
    page.querySelectorAll(".katex-mathml").forEach((formula) => formula.remove());
    return htmlToText(page.documentElement.outerHTML, anchor && `#${CSS.escape(anchor.slice(1))}`);
  };
});
