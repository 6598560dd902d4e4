// Questions of the page: choosing an answer shows whether it is right and why. What stands between the first
// question and the first section answers it, and is hidden until the reader has chosen, asks, or follows a link
// into it. Without this script all reasons stand in a closed <details>, and the answer is there.
(() => {
  const first = document.querySelector(".os-answer") && document.querySelector(".os-predict");
  const open = () => {
    document.documentElement.classList.add("os-answered");
    dispatchEvent(new Event("resize")); // what is wider than its column is looked for anew
  };

  const element = (tag, name, text = "") => {
    const made = document.createElement(tag);
    made.className = name;
    made.textContent = text;
    return made;
  };

  // The reasons stand in a live region: what appears there is read aloud.
  const show = (question, chosen, words = "") => {
    if (chosen && question === first) open();
    question.querySelector(".os-prompt").textContent = words;
    for (const reason of question.querySelectorAll(".os-reason")) reason.classList.toggle("os-chosen", reason === chosen);
  };

  const choose = (question, reasons) => {
    question.querySelectorAll("input[type=radio]").forEach((button, k) => {
      button.checked = false; // a browser may remember the choice of an earlier visit
      button.addEventListener("change", () => show(question, reasons[k]));
    });
  };

  const number = (text) => {
    const [over, under = "1"] = text.trim().replace(",", ".").replace("−", "-").split("/");
    return over === "" ? NaN : Number(over) / Number(under);
  };

  const ask = (question, reasons) => {
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
    const answer = Number(question.dataset.answer);
    // The last digits of a binary fraction decide nothing.
    const allowed = Number(question.dataset.tolerance) + 1e-9 * Math.max(1, Math.abs(answer));
    check.addEventListener("click", () => {
      const gap = number(input.value) - answer;
      if (Math.abs(gap) <= allowed) return show(question, reasons[0], "Right.");
      reveal.hidden = false;
      show(question, null, Number.isNaN(gap) ? "Type a number, such as 0.25 or 1/4." : gap > 0 ? "Too large." : "Too small.");
    });
    reveal.addEventListener("click", () => show(question, reasons[0]));
    input.addEventListener("keydown", (event) => event.key === "Enter" && check.click());
  };

  for (const question of document.querySelectorAll(".os-predict")) {
    const reply = question.querySelector(".os-reply");
    const folded = question.querySelector("details.os-reasons");
    const reasons = [...folded.querySelectorAll(".os-reason")];
    const asksForNumber = "answer" in question.dataset;
    folded.remove();
    reply.prepend(element("p", "os-prompt", asksForNumber ? "Decide first, then read on." : "Choose one: the reason appears here."));
    reply.append(...reasons);
    (asksForNumber ? ask : choose)(question, reasons);
  }

  const button = document.querySelector(".os-reveal"); // it is there before this script, so that nothing jumps
  if (!first) button?.remove();
  else {
    button.addEventListener("click", open);
    const follow = () => {
      const target = document.getElementById(decodeURIComponent(location.hash.slice(1).split("?")[0]));
      if (!target || target.checkVisibility()) return;
      open();
      target.scrollIntoView();
    };
    addEventListener("hashchange", follow);
    follow();
  }
})();
