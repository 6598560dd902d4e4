"""A visit: a page is opened once over HTTP and once from disk, and all that is wrong with it is listed."""

import gzip
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import axe_playwright_python
from pages import BOOK, READ, SIZES
from playwright.sync_api import Browser, Locator, Page

PATIENCE = 120_000  # ms: a busy machine is slow, and speed is not what these tests are about
LARGEST_VISIT = 700_000  # bytes a first visit loads, gzipped
LARGEST_JUMP = 0.1  # cumulative layout shift
LONGEST_TASK = 600  # ms: three times what a reader should wait, since other programs are not a page's fault
LONGEST_UPDATE = 50  # ms: three frames
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
WCAG = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
# Of the desktop and of the phone. The frame is the same on all pages, so that every second page turns them.
MODES = ("light", "dark")

SETTLED = """async () => {
  await document.fonts.ready;
  // An animation that starts anew leaves its old promise open: nothing may wait for it for ever.
  const atMost = promise => Promise.race([promise, new Promise(done => setTimeout(done, 5000))]);
  await atMost(Promise.allSettled(document.getAnimations().map(animation => animation.finished)));
  for (let k = 0; k < 2; k++) await atMost(new Promise(requestAnimationFrame));
  await atMost(new Promise(requestIdleCallback));
}"""
# What a page does while it loads: how far things jump that the reader sees, and how long it does not answer.
RECORD = """() => {
  window.jumps = 0; window.longest = 0;
  const watch = (type, note) => new PerformanceObserver(list => list.getEntries().forEach(note))
    .observe({type, buffered: true});
  watch('layout-shift', entry => { if (!entry.hadRecentInput) jumps += entry.value; });
  watch('longtask', entry => { longest = Math.max(longest, entry.duration); });
}"""
A4 = 680  # CSS pixels of a line on paper
# A page that is being printed: what a reader cannot unfold or scroll there any more, its title, its ground.
PAPER = """() => {
  const name = e => e.tagName + '.' + (e.getAttribute('class') ?? '');
  const bar = e => e.closest('.tag_hide-input, .tag_hide-cell, .tag_hide-output') && e.matches('.hide')
    && !e.closest('.tag_hide-output');
  const folded = [...document.querySelectorAll('main details:not([open]), main .toggle-hidden')]
    .filter(e => !bar(e));
  const wide = e => {
    const box = e.getBoundingClientRect(), clipped = getComputedStyle(e).overflowX !== 'visible';
    return box.width && (box.right > innerWidth + 1 || (clipped && e.scrollWidth > e.clientWidth + 1));
  };
  const whole = 'pre, .katex-display, figure, img, svg, table';
  const cut = [...document.querySelectorAll(`main :is(${whole})`)]
    .filter(e => e.checkVisibility() && !e.closest('svg svg') && wide(e));
  const titles = [...document.querySelectorAll('main h1')].filter(e => e.checkVisibility());
  const ground = getComputedStyle(document.body).backgroundColor;
  return [folded.map(name), cut.map(name), titles.length,
    document.documentElement.dataset.theme, ground];
}"""
# A formula that is not set, or that cannot be read.
OPENING = """() => [
  'article.bd-article h1', '.math', '.katex', '.katex-error',
].map(selector => document.querySelectorAll(selector).length).concat(jumps)"""
LAYOUT = """() => {
  const spills = e => {
    const box = e.getBoundingClientRect();
    if (!box.width || box.right <= innerWidth + 1) return false;
    for (let p = e.parentElement; p; p = p.parentElement)
      if (/auto|scroll|hidden|clip/.test(getComputedStyle(p).overflowX) && p !== document.body
          && p !== document.documentElement) return false;
    return getComputedStyle(e).position !== 'fixed';
  };
  const spilling = [...document.querySelectorAll('main *')].filter(spills)
    .map(e => e.tagName + '.' + e.getAttribute('class'));
  const page = document.documentElement;
  return [page.dataset.theme, page.scrollWidth - innerWidth, spilling.slice(0, 5)];
}"""
# A chapter has some twenty thousand tokens of code and parts of formulas, and few looks: colours and sizes,
# all the way up to the page. Of those that only show and look alike one stays, until `restore` puts the
# others back; what a reader can use, or a screen reader is told of, stays. Of all texts that look alike one
# is marked: its contrast is theirs.
REDUCE = """() => {
  const numbers = new Map(), looks = new Map();
  const look = e => {
    if (!e) return '';
    if (!looks.has(e)) {
      const s = getComputedStyle(e);
      const text = [look(e.parentElement), s.color, s.backgroundColor, s.backgroundImage, s.opacity,
        s.fontSize, s.fontWeight, s.textShadow, s.visibility, s.display, s.position, s.float, s.filter,
        s.mixBlendMode, s.clipPath, s.webkitTextStroke, e.checkVisibility()].join('|');
      if (!numbers.has(text)) numbers.set(text, numbers.size);
      looks.set(e, numbers.get(text));
    }
    return looks.get(e);
  };
  // axe does not measure a single letter, so that one may not stand for words.
  const letters = e => [...e.childNodes].map(n => n.nodeType === Node.TEXT_NODE ? n.data : '').join('')
    .replace(/[^\\p{L}\\p{N}]/gu, '').length;
  const used = 'a, button, input, label, select, img, svg, [id], [href], [title], [lang], [role], [tabindex]';
  const told = e => e.matches(used) || e.getAttributeNames().some(name => name.startsWith('aria-'));
  const blocks = [...document.querySelectorAll('pre, .katex')];
  const seen = new Set(), kept = new Set();
  for (const block of blocks) {
    const right = block.getBoundingClientRect().right;
    for (const e of block.querySelectorAll('*')) {
      if (!told(e)) {
        const box = e.getBoundingClientRect();
        const there = [box.right <= right, box.width > 0, box.height > 0];
        const key = [look(e), Math.min(letters(e), 2), ...there].join();
        if (seen.has(key)) continue;
        seen.add(key);
      }
      for (let p = e; p !== block && !kept.has(p); p = p.parentElement) kept.add(p);
    }
  }
  const removed = blocks.flatMap(block => [...block.querySelectorAll('*')])
    .filter(e => !kept.has(e)).map(e => [e, e.parentElement, e.nextSibling]);
  removed.forEach(([e]) => e.remove());
  const alike = new Set(), marked = [];
  for (const e of document.body.querySelectorAll('*')) {
    const key = [look(e), Math.min(letters(e), 2), e.matches(used)].join();
    if (e.matches('input, select, button, textarea') || (letters(e) && !alike.has(key))) marked.push(e);
    alike.add(key);
  }
  marked.forEach(e => e.dataset.look = '');
  window.restore = () => {
    marked.forEach(e => delete e.dataset.look);
    removed.reverse().forEach(([e, parent, next]) => parent.insertBefore(e, next));
  };
}"""
# Without axe's preloading: it would fetch the theme's @import relative to the page and miss.
# Nor the roles that docutils gives to a bibliography: deprecated, and no screen reader minds.
RUN_AXE = """async rules => {
  document.querySelectorAll('.citation-list, .citation').forEach(e => e.removeAttribute('role'));
  axe.configure({rules: [{id: 'color-contrast', selector: '[data-look]'}]});
  const found = await axe.run(document, {
    runOnly: rules, resultTypes: ['violations'], preload: false});
  return found.violations.flatMap(
    v => v.nodes.map(n => v.id + ': ' + n.html.slice(0, 200) + ' ' + n.target));
}"""

# Where a control stands, and how it is moved, whatever it is: a slider, a list or radio buttons.
POSITION = """box => {
  const radios = [...box.querySelectorAll("input[type=radio]")];
  return radios.length ? radios.findIndex(radio => radio.checked) : +box.querySelector("input, select").value;
}"""
MOVE = """(figure, positions) => [...figure.querySelectorAll(".os-slider")].forEach((box, k) => {
  const radios = box.querySelectorAll("input[type=radio]"), one = box.querySelector("input, select");
  if (radios.length) return radios[positions[k]].click();
  one.value = positions[k];
  one.dispatchEvent(new Event("input", {bubbles: true}));
})"""
STATE = f"""figure => ({{
  paths: [...figure.querySelectorAll("path[data-mark]")].map(path => path.getAttribute("d")),
  readouts: [...figure.querySelectorAll(".os-readouts b")].map(value => value.textContent),
  alts: [...figure.querySelectorAll("svg[role=img]")].map(picture => picture.getAttribute("aria-label")),
  positions: [...figure.querySelectorAll(".os-slider")].map({POSITION}),
  said: [...figure.querySelectorAll(".os-slider input[type=range]")].map(input => [
    input.closest(".os-slider").querySelector("output").textContent, input.getAttribute("aria-valuetext")]),
}})"""
TIMES = f"""figure => {{
  const move = {MOVE}, boxes = [...figure.querySelectorAll(".os-slider")], times = [];
  const stops = boxes.map(box => box.querySelector("input[type=range]")
    ? +box.querySelector("input").max + 1 : box.querySelectorAll("input, option").length);
  for (let k = 0; k < 90; k++) {{
    const start = performance.now();
    move(figure, stops.map(stop => k % stop));
    figure.getBoundingClientRect();
    times.push((performance.now() - start) / boxes.length);
  }}
  return times.sort((a, b) => a - b);
}}"""
STILL = """() => [...document.querySelectorAll('figure.onestep-explorer')].map(figure => [
  [...figure.querySelectorAll('.os-controls')].some(e => e.checkVisibility()),
  [...figure.querySelectorAll('.os-still')].every(e => e.checkVisibility()),
  [...figure.querySelectorAll('path[data-mark]')].every(e => e.getAttribute('d')),
])"""

Note = Callable[[str], None]


def visit(browser: Browser, site: Path, url: str, path: str, modes: tuple[str, str] = MODES) -> list[str]:
    """Open a page over HTTP on a desktop and from disk on a phone, in two modes: what is wrong with it."""
    faults: list[str] = []
    loaded: set[str] = set()
    disk, note = f"{site.resolve().as_uri()}/", faults.append
    with window(browser, "desktop", modes[0]) as page:
        page.on("requestfinished", lambda request: loaded.add(request.url))
        enter(page, url, path, note)
        look(page, "desktop", modes[0], note)
        weight = sum(gzipped_size(site, address.removeprefix(url)) for address in loaded)
        if weight > LARGEST_VISIT and path in READ:
            note(f"a first visit loads {weight} bytes, at most {LARGEST_VISIT}")
        explorers = move_sliders(page, note)
        if path in READ:
            on_paper(page, note)
    with window(browser, "phone", modes[1]) as page:
        enter(page, disk, path, note)
        look(page, "phone", modes[1], note)
    if explorers:
        with window(browser, "desktop", "light", scripts=False) as page:
            page.goto(disk + path)
            for number, (controls, still, drawn) in enumerate(page.evaluate(STILL)):
                if controls or not still or not drawn:
                    note(f"without scripts: explorer {number} shows its controls or lacks its picture")
    return list(dict.fromkeys(faults))


@contextmanager
def window(browser: Browser, size: str, mode: str, scripts: bool = True) -> Iterator[Page]:
    """An empty page in a browser with an empty cache."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=mode,
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    context.close()


def enter(page: Page, root: str, path: str, note: Note) -> None:
    """Open a page of the site, watched, wait until nothing loads, and ask for the answer that it hides."""
    over = "from disk" if root.startswith("file:") else "over HTTP"
    watch(page, root, lambda fault: note(f"{over}: {fault}"))
    page.add_init_script(f"({RECORD})()")
    longest = load(page, root + path)
    for _ in range(3 if path in READ else 0):  # a busy machine: the best of a few loads counts
        if longest <= LONGEST_TASK:
            break
        longest = min(longest, load(page, root + path))
    headings, formulas, done, wrong, jumps = page.evaluate(OPENING)
    if path in BOOK and headings != 1:
        note(f"{over}: {headings} headings of level 1")
    if wrong or formulas != done:
        note(f"{over}: of {formulas} formulas {done} are set and {wrong} wrong")
    if path in READ and jumps > LARGEST_JUMP:
        note(f"{over}: things jump while the page loads, by {jumps:.2f}")
    if path in READ and longest > LONGEST_TASK:
        note(f"{over}: it does not answer for {longest:.0f} ms while it loads")
    page.evaluate("() => document.querySelector('.os-reveal')?.click()")


def load(page: Page, address: str) -> float:
    """Open an address and wait until nothing moves; ms of the longest task."""
    page.goto(address, wait_until="load")
    page.evaluate(SETTLED)
    return page.evaluate("() => longest")


def watch(page: Page, root: str, note: Note) -> None:
    """Note everything that goes wrong on a page from now on."""
    inside = (root, "data:", "blob:")
    page.on("console", lambda m: m.type in ("error", "warning") and note(f"console: {m.text}"))
    page.on("pageerror", lambda error: note(f"exception: {error}"))
    page.on("requestfailed", lambda request: note(f"failed: {request.url}"))
    page.on("response", lambda reply: reply.status >= 400 and note(f"failed: {reply.status} {reply.url}"))
    page.on("request", lambda request: request.url.startswith(inside) or note(f"outside: {request.url}"))


def look(page: Page, size: str, mode: str, note: Note) -> None:
    """Look at an open page in the mode that it was opened in."""
    page.evaluate(AXE)
    theme, excess, spilling = page.evaluate(LAYOUT)
    if theme != mode:
        note(f"{size}, {mode}: the page is {theme}")
    if excess > 0 or spilling:
        note(f"{size}, {mode}: {excess} pixels too wide: {spilling}")
    for violation in violations(page):
        note(f"{size}, {mode}: {violation}")


def violations(page: Page) -> list[str]:
    """What axe-core finds, one line each.

    Its time grows faster than the page, and most of a page are tokens that look alike: it sees one of them.
    """
    page.evaluate(REDUCE)
    found = page.evaluate(RUN_AXE, WCAG)
    page.evaluate("() => restore()")
    return list(dict.fromkeys(found))


def on_paper(page: Page, note: Note) -> None:
    """The open page on paper, from a reader's dark mode; closes the visit of this window."""
    page.set_viewport_size({"width": A4, "height": 1000})
    page.emulate_media(color_scheme="dark")
    page.evaluate(SETTLED)
    page.emulate_media(color_scheme="dark", media="print")
    page.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    page.evaluate(SETTLED)
    folded, cut, titles, theme, ground = page.evaluate(PAPER)
    for what, there in (("folded", folded), ("cut", cut)):
        if there:
            note(f"on paper: {what}: {there}")
    if titles != 1:
        note(f"on paper: {titles} titles")
    if (theme, ground) != ("light", "rgb(255, 255, 255)"):
        note(f"on paper: the page is {theme} on {ground}")


def move_sliders(page: Page, note: Note) -> int:
    """Note which controls a key does not move, or which change nothing; the number of explorers."""
    figures = page.locator("figure.onestep-explorer").all()
    for number, figure in enumerate(figures):
        for box in figure.locator(".os-slider").all():
            if not moves(figure, box):
                name = box.locator("input, select").first.get_attribute("aria-label")
                note(f"explorer {number}: {name or box.inner_text()} changes nothing")
        update = figure.evaluate(TIMES)[45]
        if update > LONGEST_UPDATE:
            note(f"explorer {number}: an update takes {update:.0f} ms")
    return len(figures)


def moves(figure: Locator, box: Locator) -> bool:
    """True if an arrow key moves the control, what is told of the figure, and its curves or numbers."""
    before = figure.evaluate(STATE)
    control = box.locator("input:not([type=radio]), input:checked, select").first
    control.focus()
    last = box.locator("input[type=radio], option").count() - 1
    at_end = box.evaluate(POSITION) == (last if last >= 0 else int(control.get_attribute("max") or 0))
    control.press("ArrowUp" if at_end and last >= 0 else "ArrowLeft" if at_end else "ArrowRight")
    after = figure.evaluate(STATE)
    drawn = [(state["paths"], state["readouts"]) for state in (before, after)]
    told = all(after[part] != before[part] for part in ("positions", "alts"))
    return told and drawn[0] != drawn[1]


@cache
def gzipped_size(site: Path, address: str) -> int:
    """Bytes of one file of the site as a host would send it; 0 for what is no file of it."""
    file = site / unquote(urlsplit(address).path)
    return len(gzip.compress(file.read_bytes(), compresslevel=6)) if file.is_file() else 0
