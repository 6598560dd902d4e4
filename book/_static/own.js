// A reader's own activation and target, without a kernel: Hermite coefficients by quadrature, and the limits of the
// test loss of random features (chapter 5) and of the staircase (chapter 9). The grammar is that of
// onestep_lib/formulas.py; tests/book/site/test_own_numbers.py compares every number with the library.
(() => {
  const LONGEST = 200, HIGHEST = 20, ORDERS = 4, END = 13, PANELS = 416;
  const TOKEN = /\s*(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|He_\d+|[a-z]+|[-+*/^(),])\s*/y;
  const FUNCTIONS = { exp: Math.exp, log: Math.log, sin: Math.sin, cos: Math.cos, tanh: Math.tanh, abs: Math.abs, erf };
  const ALLOWED = `numbers, z, + - * / ^ ( ), ${Object.keys(FUNCTIONS).join(", ")}, max(a, b) and He_k`;

  function erf(x) {
    if (Math.abs(x) > 6) return Math.sign(x);
    let term = x, sum = x; // a series of positive terms: erf = 2/sqrt(pi) exp(-x^2) sum_k 2^k x^(2k+1) / (2k+1)!!
    for (let k = 1; Math.abs(term) > 1e-17 * Math.abs(sum); k++) sum += term *= (2 * x * x) / (2 * k + 1);
    return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
  }

  const hermite = (k, z) => {
    let [last, value] = [0, 1];
    for (let j = 0; j < k; j++) [last, value] = [value, z * value - j * last];
    return value;
  };

  // A formula as a function of z: sums of products of signs of powers of atoms.
  function read(text) {
    const tokens = [], wrong = (why) => new Error(`"${text}" ${why}: use ${ALLOWED}`);
    if (!text.trim() || text.length > LONGEST) throw new Error(`A formula has from 1 to ${LONGEST} characters.`);
    for (TOKEN.lastIndex = 0; TOKEN.lastIndex < text.length; ) {
      const from = TOKEN.lastIndex, found = TOKEN.exec(text);
      if (!found) throw wrong(`cannot be read from "${text.slice(from)}" on`);
      tokens.push(found[1]);
    }
    let at = 0;
    const next = (...signs) => signs.includes(tokens[at]) ? tokens[at++] : null;
    const need = (sign) => { if (!next(sign)) throw wrong(`is no formula (a "${sign}" is missing)`); };
    const sum = () => {
      let left = product();
      for (let sign; (sign = next("+", "-")); ) {
        const [a, b] = [left, product()];
        left = sign === "+" ? (z) => a(z) + b(z) : (z) => a(z) - b(z);
      }
      return left;
    };
    const product = () => {
      let left = signed();
      for (let sign; (sign = next("*", "/")); ) {
        const [a, b] = [left, signed()];
        left = sign === "*" ? (z) => a(z) * b(z) : (z) => a(z) / b(z);
      }
      return left;
    };
    const signed = () => {
      const sign = next("+", "-");
      if (!sign) return power();
      const inner = signed();
      return sign === "-" ? (z) => -inner(z) : inner;
    };
    const power = () => {
      const base = atom();
      if (!next("^")) return base;
      const exponent = signed();
      return (z) => base(z) ** exponent(z);
    };
    const atom = () => {
      if (next("(")) { const inner = sum(); need(")"); return inner; }
      const word = tokens[at++];
      if (word === undefined) throw wrong("ends too early");
      if (/^[\d.]/.test(word)) return () => Number(word);
      if (word === "z") return (z) => z;
      if (word.startsWith("He_")) {
        const k = Number(word.slice(3));
        if (k > HIGHEST) throw new Error(`He_k goes up to k = ${HIGHEST}.`);
        if (!next("(")) return (z) => hermite(k, z);
        const inner = sum();
        need(")");
        return (z) => hermite(k, inner(z));
      }
      if (word !== "max" && !Object.hasOwn(FUNCTIONS, word)) throw wrong(`has "${word}", which is not known`);
      need("(");
      const first = sum();
      if (word === "max") {
        need(",");
        const second = sum();
        need(")");
        return (z) => Math.max(first(z), second(z));
      }
      need(")");
      return (z) => FUNCTIONS[word](first(z));
    };
    const whole = sum();
    if (at < tokens.length) throw wrong(`cannot be read from "${tokens.slice(at).join(" ")}" on`);
    return whole;
  }

  // Gauss-Legendre of eight points on panels of 1/16: a kink at a multiple of 1/16 costs nothing.
  const NODES = [0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363];
  const WEIGHTS = [0.362683783378362, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763];
  const POINTS = [];
  for (let panel = 0, half = END / PANELS; panel < PANELS; panel++)
    NODES.forEach((node, k) => [-node, node].forEach((x) => {
      const z = -END + (2 * panel + 1 + x) * half;
      POINTS.push([z, (half * WEIGHTS[k] * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI)]);
    }));

  function coefficients(text) {
    const f = read(text), c = new Array(ORDERS + 1).fill(0);
    let square = 0;
    for (const [z, weight] of POINTS) {
      const value = f(z);
      if (!Number.isFinite(value)) throw new Error(`"${text}" is not finite at z = ${z.toFixed(2)}.`);
      square += weight * value * value;
      for (let k = 0, factorial = 1; k <= ORDERS; factorial *= ++k) c[k] += (weight * value * hermite(k, z)) / factorial;
    }
    for (const z of [-END, END])
      if (f(z) ** 2 * Math.exp((-z * z) / 2) > 1e-12 * square || !Number.isFinite(f(z)))
        throw new Error(`"${text}" grows too fast: its mean square must exist.`);
    return { c: c.map((x) => Math.abs(x) < 1e-12 ? 0 : x), square };
  }

  // Averages over the Marchenko-Pastur law: closed_means of onestep_lib/no_step/marchenko_pastur.py.
  function means(v, c) {
    const low = (1 - Math.sqrt(c)) ** 2, high = (1 + Math.sqrt(c)) ** 2;
    const s = Math.sqrt((1 + v * low) * (1 + v * high)), plus = 1 + v * (1 + c), minus = 1 + v * (1 - c);
    const g = 2 / (plus + s), p = minus >= 0 ? 2 / (minus + s) : (s - minus) / (2 * c * v), g2 = g / s;
    const slope = (low * (1 + v * high) + high * (1 + v * low)) / (2 * s);
    return { p, g, g2, p2: p - v * g2, h2: (g ** 2 / 2) * (1 + c + slope) };
  }

  // The resolvent's traces and their slopes in the penalty, from the one unknown mu, by bisection.
  function traces(phi, psi, ridge, a, b) {
    const c = 1 / phi, k = psi / phi;
    const gap = (mu) => { const { p } = means(a / (b + mu), c); return ridge / mu + 1 - 1 / k - (mu / (b + mu)) * p; };
    let low = Math.log(1e-18), high = Math.log(1e9);
    for (let step = 0; step < 200; step++) {
      const middle = (low + high) / 2;
      if (gap(Math.exp(middle)) > 0) low = middle; else high = middle;
    }
    const mu = Math.exp((low + high) / 2), u = b + mu, q = ridge / mu, m = means(a / u, c), scale = q * u;
    const s = (a * m.g2 + b * m.p2) / u ** 2, dq = s / (q + mu * s);
    const w1 = m.p2 + dq * (a * m.g2 + b * m.p2), w2 = m.g2 + dq * (a * m.h2 + b * m.g2);
    return {
      t: [m.p / scale, m.g / scale], dt: [-w1 / scale ** 2, -w2 / scale ** 2], p: m.p, w1, w2,
      tau: (b * m.p + a * m.g) / scale, dtau: -(b * w1 + a * w2) / scale ** 2,
    };
  }

  function solve(matrix, vector) {
    const rows = matrix.map((row, i) => [...row, vector[i]]), n = rows.length;
    for (let i = 0; i < n; i++) {
      const best = rows.slice(i).reduce((top, row, k) => Math.abs(row[i]) > Math.abs(rows[top][i]) ? i + k : top, i);
      [rows[i], rows[best]] = [rows[best], rows[i]];
      for (let j = i + 1; j < n; j++) {
        const factor = rows[j][i] / rows[i][i];
        for (let k = i; k <= n; k++) rows[j][k] -= factor * rows[i][k];
      }
    }
    for (let i = n - 1; i >= 0; i--) {
      for (let k = i + 1; k < n; k++) rows[i][n] -= rows[i][k] * rows[k][n];
      rows[i][n] /= rows[i][i];
    }
    return rows.map((row) => row[n]);
  }

  const factorial = (k) => k < 2 ? 1 : k * factorial(k - 1);
  const moment = (k) => k % 2 ? 0 : factorial(k) / (2 ** (k / 2) * factorial(k / 2)); // E z^k
  const dot = (x, y) => x.reduce((sum, value, i) => sum + value * y[i], 0);
  // Coordinates of kappa^k in the normalised Hermite polynomials.
  const power = (k, j) => (k - j) % 2 || j > k ? 0
    : (factorial(k) / (2 ** ((k - j) / 2) * factorial((k - j) / 2) * factorial(j))) * Math.sqrt(factorial(j));

  // Test loss of random features and of 1, 2, ... infinite spikes: no_step/gaussian_equivalence.py, small_step/stairs.py.
  function losses({ activation, target, noise, ridge, n, d, N, powers }) {
    const { c } = activation, phi = d / n, a = c[1] ** 2, b = activation.square - c[0] ** 2 - a;
    const bulk = traces(phi, d / N, ridge, a, b), linear = target.c[1] ** 2;
    const other = target.square - target.c[0] ** 2 - linear + noise ** 2;
    const test = (linear * bulk.w2 + other * bulk.w1) / bulk.p ** 2;
    const alignment = target.c[1] / Math.sqrt(linear + phi * (linear + other));
    return [test, ...powers.map((last, count) => test - gain(powers.slice(0, count + 1), last))];

    function gain(used, level) {
      const orders = [...Array(level + 1).keys()], t = orders.map((q) => bulk.t[q === 1 ? 1 : 0]);
      const dt = orders.map((q) => bulk.dt[q === 1 ? 1 : 0]);
      const gram = used.map((i) => used.map((j) => moment(i + j))), ones = used.map(moment);
      const share = 1 - dot(ones, solve(gram, ones)), norm = (2 * N * c[2] ** 2) / d;
      const rows = norm, inputs = norm * share, total = N * c[0] ** 2 * share + rows + inputs;
      const u = t[0] / (1 + bulk.tau), du = (dt[0] - u * bulk.dtau) / (1 + bulk.tau);
      const top = 1 + inputs * u, bottom = 1 + total * u + rows * inputs * u ** 2;
      const dbottom = total + 2 * rows * inputs * u;
      dt[0] = (dt[0] * top) / bottom + (t[0] * du * (inputs * bottom - top * dbottom)) / bottom ** 2;
      t[0] *= top / bottom;
      const signal = orders.map((q) => q ? Math.sqrt(factorial(q)) * target.c[q] * alignment ** q : 0);
      const basis = used.map((k) => orders.map((j) => power(k, j)));
      const size = basis.map((row) => Math.sqrt(row.reduce((sum, x, q) => sum + x * x * t[q], 0)));
      const scaled = basis.map((row, i) => row.map((x) => x / size[i]));
      const side = (w) => scaled.map((x) => scaled.map((y) => x.reduce((sum, value, q) => sum + value * w[q] * y[q], 0)));
      const vector = (w) => scaled.map((x) => x.reduce((sum, value, q) => sum + value * w[q] * signal[q], 0));
      const x = solve(side(t), vector(t)), dmatrix = side(dt).map((row) => dot(row, x));
      const dvector = vector(dt);
      return -x.reduce((sum, value, i) => sum + value * (2 * dvector[i] - dmatrix[i]), 0) / bulk.t[0] ** 2;
    }
  }

  // The page.
  const FIELDS = [
    ["activation", "activation", "max(z, 0) - 0.4"], ["target", "target", "He_1 + 0.7*He_2"], ["noise", "noise", "0.3"],
    ["ridge", "penalty λ", "0.05"], ["n", "samples n", "1000"], ["d", "dimension d", "200"],
  ];
  const WIDTHS = [...Array(33).keys()].map((k) => 0.2 * 25 ** (k / 32));
  const LOOKS = [["#0072B2", ""], ["#D55E00", "7 4"], ["#009E73", "2 3"], ["#AA3377", "9 3 2 3"]];
  const make = (tag, attributes = {}, text = "", space = null) => {
    const element = space ? document.createElementNS(space, tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text) element.textContent = text;
    return element;
  };
  const svg = (tag, attributes, text) => make(tag, attributes, text, "http://www.w3.org/2000/svg");

  function compute(values) {
    const numbers = Object.fromEntries(["noise", "ridge", "n", "d"].map((name) => [name, Number(values[name].replace(",", "."))]));
    for (const [name, value] of Object.entries(numbers))
      if (!(Number.isFinite(value) && (name === "noise" ? value >= 0 : value > 0)) || values[name].trim() === "")
        throw new Error(`${FIELDS.find(([key]) => key === name)[1]} must be a number ${name === "noise" ? "from 0 on" : "above 0"}.`);
    const activation = coefficients(values.activation), target = coefficients(values.target);
    if (activation.square - activation.c[0] ** 2 < 1e-12) throw new Error("The activation is a constant.");
    const powers = activation.c[1] ? [1, 2, 3].filter((k) => activation.c[k]) : [];
    const at = (N) => losses({ activation, target, ...numbers, N, powers });
    return { activation, target, powers, curves: WIDTHS.map((ratio) => at(Math.round(ratio * numbers.n))), numbers };
  }

  function draw(picture, found) {
    const zero = found.target.square - found.target.c[0] ** 2 + found.numbers.noise ** 2;
    const top = Math.min(Math.max(zero, ...found.curves.flat()) * 1.05, 3 * zero);
    const x = (k) => 50 + (k / 32) * 400, y = (value) => 210 - (Math.min(value, top) / top) * 190;
    const names = ["no step", ...found.powers.map((k) => k > 1 ? `up to κ^${k} learned` : "κ learned")];
    picture.replaceChildren(
      svg("path", { d: "M50 15V210H450", class: "os-own-axis" }),
      svg("path", { d: `M50 ${y(zero)}H450`, class: "os-own-zero" }),
      ...[0.2, 1, 5].map((ratio, k) => svg("text", { x: x(16 * k), y: 226, "text-anchor": "middle" }, `${ratio}`)),
      svg("text", { x: 250, y: 244, "text-anchor": "middle" }, "width N/n"),
      ...[0, top / 2].map((value) => svg("text", { x: 44, y: y(value) + 4, "text-anchor": "end" }, value.toFixed(2))),
      svg("text", { x: 50, y: 11 }, "test loss in the limit (dotted: predict zero)"),
      ...names.flatMap((name, level) => {
        const path = found.curves.map((row, k) => `${k ? "L" : "M"}${x(k).toFixed(1)} ${y(row[level]).toFixed(1)}`).join("");
        const [stroke, dash] = LOOKS[level];
        return [svg("path", { d: path, stroke, "stroke-dasharray": dash, class: "os-own-line" }),
          svg("path", { d: `M${50 + 205 * (level % 2)} ${264 + 22 * (level >> 1)}h34`, stroke, "stroke-dasharray": dash, class: "os-own-line" }),
          svg("text", { x: 90 + 205 * (level % 2), y: 268 + 22 * (level >> 1) }, name)];
      }),
    );
    const middle = found.curves[16].map((value, level) => `${names[level]} ${value.toFixed(3)}`).join(", ");
    const said = `Test loss at N = n: ${middle}; predict zero ${zero.toFixed(3)}.`;
    picture.setAttribute("aria-label", said);
    return said;
  }

  function start(figure) {
    const form = make("form", { class: "os-own-fields" }), inputs = {};
    for (const [name, label, value] of FIELDS) {
      const box = make("label", {}, `${label} `);
      inputs[name] = make("input", { name, value, size: name.length > 5 ? 18 : 6, spellcheck: "false", autocomplete: "off" });
      box.append(inputs[name]);
      form.append(box);
    }
    const picture = svg("svg", { viewBox: "0 0 470 296", role: "img" });
    const table = make("table"), said = make("p", { role: "status" }), line = make("code");
    const scroll = make("div", { class: "os-own-scroll", tabindex: "0" });
    scroll.append(table);
    const code = make("p", {}, "The same with networks, in a notebook: ");
    code.append(line);
    const update = () => {
      const values = Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]));
      try {
        const found = compute(values), row = (name, cells) => {
          const made = make("tr");
          made.append(make("th", { scope: "row" }, name), ...cells.map((cell) => make("td", {}, cell.toFixed(4))));
          return made;
        };
        const head = make("tr");
        head.append(make("td"), ...["c₀", "c₁", "c₂", "c₃", "c₄", "mean square"].map((name) => make("th", { scope: "col" }, name)));
        table.replaceChildren(head, row("activation", [...found.activation.c, found.activation.square]),
          row("target", [...found.target.c, found.target.square]));
        const mean = Math.abs(found.target.c[0]) > 1e-9 ? " The target's mean is taken off." : "";
        const none = found.powers.length ? "" : " The activation has no mean slope, so that no small step writes a spike.";
        said.textContent = draw(picture, found) + mean + none;
        line.textContent = `lab("activation=${values.activation}; target=${values.target}; noise=${values.noise}; ridge=${values.ridge}; n=${values.n}; d=${values.d}; vary=width; step=0")`;
        figure.dataset.numbers = JSON.stringify({ activation: found.activation, target: found.target, powers: found.powers, curves: found.curves, widths: WIDTHS });
      } catch (error) {
        said.textContent = error.message;
        delete figure.dataset.numbers;
      }
    };
    form.addEventListener("input", update);
    form.addEventListener("submit", (event) => event.preventDefault());
    figure.replaceChildren(form, picture, said, scroll, code);
    update();
  }
  document.querySelectorAll(".os-own").forEach(start);
})();
