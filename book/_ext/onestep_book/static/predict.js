// Questions of the page: choosing an answer shows whether it is right and why.
// Without this script all reasons stand in a closed <details>.
(() => {
  const element = (tag, name, text = "") => {
    const made = document.createElement(tag);
    made.className = name;
    made.textContent = text;
    return made;
  };

  // A copy of a reason for the live region: its words are new there, so that they are read aloud.
  const copy = (reason) => {
    const made = reason.cloneNode(true);
    for (const named of made.querySelectorAll("[id]")) named.removeAttribute("id");
    return made;
  };

  const show = (question, ...parts) => {
    question.querySelector(".os-prompt").hidden = true;
    const reply = question.querySelector(".os-reply");
    reply.replaceChildren(...parts);
    // Formulas that were not set yet when the reason was copied.
    if ([...reply.querySelectorAll(".math")].some((formula) => !formula.querySelector("mjx-container")))
      window.MathJax?.typesetPromise?.([reply]);
  };

  const choose = (question, reasons) => {
    const buttons = [...question.querySelectorAll("input[type=radio]")];
    buttons.forEach((button, k) => {
      button.checked = false; // a browser remembers the choice of an earlier visit, but no reason stands there
      button.addEventListener("change", () => {
        const reason = copy(reasons[k]);
        reason.querySelector(".os-again").remove();
        show(question, reason);
      });
    });
  };

  const number = (text) => {
    const [over, under = "1"] = text.trim().replace(",", ".").replace("−", "-").split("/");
    return over === "" ? NaN : Number(over) / Number(under);
  };

  const ask = (question, reasons) => {
    const { answer, tolerance } = question.dataset;
    const row = element("div", "os-number");
    const label = element("label", "", "Your number: ");
    const input = element("input", "");
    const check = element("button", "", "Check");
    const reveal = element("button", "", "Show the answer");
    input.inputMode = "decimal";
    input.autocomplete = "off";
    check.type = reveal.type = "button";
    reveal.hidden = true;
    label.append(input);
    row.append(label, check, reveal);
    question.querySelector(".os-reply").before(row);
    check.addEventListener("click", () => {
      const gap = number(input.value) - Number(answer);
      // The last digits of a binary fraction decide nothing.
      if (Math.abs(gap) <= Number(tolerance) * (1 + 1e-9) + 1e-12) return show(question, copy(reasons[0]));
      reveal.hidden = false;
      const words = Number.isNaN(gap) ? "Type a number, such as 0.25 or 1/4." : gap > 0 ? "Too large." : "Too small.";
      show(question, element("p", "os-again", words));
    });
    reveal.addEventListener("click", () => {
      const reason = copy(reasons[0]);
      reason.querySelector(".os-verdict").textContent = "Answer:";
      show(question, reason);
    });
    input.addEventListener("keydown", (event) => event.key === "Enter" && check.click());
  };

  for (const question of document.querySelectorAll(".os-predict")) {
    const folded = question.querySelector("details.os-reasons");
    const reasons = [...folded.querySelectorAll(".os-reason")];
    const asksForNumber = "answer" in question.dataset;
    const printed = element("div", "os-reasons");
    printed.append(...reasons);
    folded.replaceWith(
      printed,
      element("p", "os-prompt", asksForNumber ? "Decide first, then read on." : "Choose one: the reason appears here.")
    );
    question.dataset.live = "";
    (asksForNumber ? ask : choose)(question, reasons);
  }
})();
