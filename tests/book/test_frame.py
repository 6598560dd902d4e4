"""The frame: one address, one list of chapters, pages for every module, names, Binder."""

import re
import shutil
import subprocess
import sys
import tomllib
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from book._tools import address

ROOT = Path(__file__).resolve().parents[2]
TEXTS = sorted(
    path
    for pattern in ("*.md", "*.cff", "book/**/*.md", "book/**/*.ipynb", "onestep_lib/**/*.py")
    for path in ROOT.glob(pattern)
)
# Surnames that this book cites or names, and how they are often written.
MISSPELLED = {
    r"Hermitte|Hermit polynomial": "Hermite",
    r"Stieltjies|Stieljes|Stiltjes|Steiltjes": "Stieltjes",
    r"Mar[cč]henk?o-Pasteur|Pasteur|Marcenko": "Marchenko–Pastur",
    r"Monteri|Moneri": "Moniri",
    r"Penington|Pennigton": "Pennington",
    r"Zdeborova\b": "Zdeborová",
    r"Loureirro|Lourero": "Loureiro",
    r"Krzkala|Krzakla|Kzrakala": "Krzakala",
    r"Rahimmi|Reccht": "Rahimi and Recht",
    r"Montanarri|Misiakievicz|Misiakewicz": "Montanari, Misiakiewicz",
    r"Gorbani|Ghorbany": "Ghorbani",
    r"Wigner's semi-circle": "Wigner's semicircle",
    r"Mehlers": "Mehler's",
    r"Tibshrani|Hasti\b": "Hastie, Tibshirani",
    r"Bellkin": "Belkin",
    r"Woodburry|Sherman-Morisson|Shermann": "Sherman–Morrison–Woodbury",
}
# Public modules that state no formula of the theory.
NO_THEORY = {
    "batches", "convergence", "cost", "costs", "explorer", "formulas", "initialisation", "inputs", "kernel",
    "laboratory", "look", "panels", "plotting", "portraits", "repeats", "schedules", "series",
    "settings", "signature", "simulation", "sliders", "svg", "sweep", "trial",
    # Parts of `losses`, whose deviations are theirs.
    "fit",
}  # fmt: skip


def config() -> dict:
    return yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))


def test_docstrings_cite_equations_and_titles_not_chapter_numbers():
    """A number would go stale when a chapter is put in; comments of the code are held to the same."""
    counted = re.compile(r"\bchapters?\s+(?:#\s*)?\d", re.IGNORECASE)
    sources = {path.name: path.read_text("utf-8") for path in (ROOT / "onestep_lib").rglob("*.py")}
    assert len(sources) > 30
    assert {name: hit.group() for name, text in sources.items() if (hit := counted.search(text))} == {}


def chapters() -> list[Path]:
    return sorted((ROOT / "book").glob("[0-9][0-9]-*.ipynb"))


def test_the_repository_address_is_one_value():
    expected = config()["repository"]["url"]
    assert address.configured() == expected
    named = {
        (path.name, found.group())
        for path in TEXTS
        for found in re.finditer(r"https://github\.com/[\w.-]+/one-gradient-step\b", path.read_text("utf-8"))
    }
    assert named
    assert {url for _, url in named} == {expected}


def test_setting_the_address_rewrites_every_copy(tmp_path):
    new = "https://github.com/some-lab/one-step"
    old = address.configured()
    for name in ("_config.yml", "CITATION.cff", "README.md"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"), "utf-8")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "01-a.ipynb").write_text(f'"pip install git+{old}"', "utf-8")
    changed = {path.name for path in address.replace(new, tmp_path)}
    assert {"_config.yml", "CITATION.cff", "01-a.ipynb"} <= changed
    assert address.configured(tmp_path) == new
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and old in p.read_text("utf-8")]


WRONG_NAMES = [
    "",
    "a",
    "a/b.git",
    "a/b.wiki",
    "../..",
    "a/..",
    "./b",
    "-a/b",
    "a--b/c",
    "a_b/c",
    "a/b/c",
    "a/b c",
    "ä/b",
]
WRONG_NAMES += ["a/b\n", "a/`b`", "a/$(b)", "a/b?c", "a/b#c", "a" * 40 + "/b", "a/" + "b" * 101]


@pytest.mark.parametrize(
    "wrong",
    ["", "github.com/a/b", "http://github.com/a/b", *(f"https://github.com/{x}" for x in WRONG_NAMES)],
)
def test_an_address_of_the_wrong_form_is_refused(wrong):
    with pytest.raises(ValueError, match="URL is"):
        address.replace(wrong, ROOT / "does-not-matter")


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A folder in which `make address` works, with this environment in place of its own."""
    read = (
        "Makefile",
        "_config.yml",
        "README.md",
        "requirements.txt",
        "requirements.lock",
        "package-lock.json",
        "pyproject.toml",
    )
    for name in read:
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "book" / "_tools").mkdir(parents=True)
    shutil.copy(ROOT / "book" / "_tools" / "address.py", tmp_path / "book" / "_tools")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    for made in ("made", "book", "grading"):  # newer than what they are made from
        (tmp_path / ".venv" / made).touch()
    return tmp_path


@pytest.mark.parametrize("good", ["some-lab/one-step", "A1/.github", "a/b_c.d-e"])
def test_make_address_sets_the_address(checkout, good):
    url = f"https://github.com/{good}"
    subprocess.run(["make", "address", f"URL={url}"], cwd=checkout, capture_output=True, check=True)
    assert address.configured(checkout) == url


COMMANDS = ["`touch ran`", "$(shell touch ran)", "$(touch ran)", '"; touch ran; "', "$$(touch ran)"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("through", ["argument", "environment"])
def test_make_runs_nothing_that_it_is_given(checkout, command, through):
    typed = [
        f"URL=https://github.com/a/b{command}",
        f"SEED={command}",
        f"SUBMISSIONS={command}",
        f"COURSE={command}",
    ]
    call = ["make", *typed] if through == "argument" else ["env", *typed, "make"]
    run = partial(subprocess.run, cwd=checkout, capture_output=True, text=True, check=False)
    reply = run([*call, "address"])
    assert reply.returncode != 0
    assert "URL is" in reply.stderr
    assert address.configured(checkout) == address.configured()
    (checkout / "book/_tools/grading.py").write_text("import sys\nprint(sys.argv)\n", "utf-8")
    shown = run([*call, "grade"])
    assert repr(command) in shown.stdout, shown.stderr
    assert not (checkout / "ran").exists()


def workflows() -> dict[str, dict]:
    return {p.stem: yaml.safe_load(p.read_text("utf-8")) for p in (ROOT / ".github/workflows").glob("*.yml")}


def test_actions_are_named_by_commit_with_the_version_beside_them():
    for path in (ROOT / ".github/workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.+)", path.read_text("utf-8")):
            assert re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", used), (path.name, used)


def test_no_job_that_runs_our_code_may_write():
    for name, workflow in workflows().items():
        for title, job in workflow["jobs"].items():
            rights = job.get("permissions", workflow["permissions"])
            runs = [step for step in job["steps"] if "run" in step]
            # What may write runs git or the host's own tool, on what another job has made.
            ours = [step for step in runs if re.search(r"make|python|\.venv|\./", step["run"])]
            assert not ours or rights == {"contents": "read"}, (name, title)
            assert rights == {"contents": "read"} or not any(
                "checkout" in step.get("uses", "") for step in job["steps"]
            )
            assert not [step for step in runs if "${{" in step["run"]], (
                "what a repository is called is no shell text"
            )


def test_every_chapter_is_in_the_table_of_contents():
    listed = re.findall(r"file: (book/\d\d-\S+)", (ROOT / "_toc.yml").read_text("utf-8"))
    assert listed == [f"book/{path.stem}" for path in chapters()]


def public_modules() -> dict[str, str]:
    """Name and dotted path of every module without an underscore; names are unique."""
    library = ROOT / "onestep_lib"
    paths = [p.relative_to(ROOT).with_suffix("") for p in library.rglob("*.py") if not p.stem.startswith("_")]
    modules = {path.name: ".".join(path.parts) for path in paths}
    assert len(modules) == len(paths)
    return modules


def test_every_folder_of_the_library_has_a_page():
    rooms = {path.split(".")[1] if path.count(".") == 2 else "basics" for path in public_modules().values()}
    assert {page.stem for page in (ROOT / "book/api").glob("*.rst")} == rooms
    for room in rooms:
        package = "onestep_lib" if room == "basics" else f"onestep_lib.{room}"
        assert f".. room:: {package}\n" in (ROOT / f"book/api/{room}.rst").read_text("utf-8")


def test_every_theory_has_a_recorded_deviation_and_every_record_a_formula():
    table = (ROOT / "tests/DEVIATIONS.md").read_text("utf-8")
    formulas = re.findall(r"^\| `(\w+)\.([\w.]+)` \|", table, re.MULTILINE)
    recorded, modules = {module for module, _ in formulas}, public_modules()
    assert recorded == set(modules) - NO_THEORY, "note it with `deviation`, then run `make deviations`"
    for module, name in formulas:
        attrgetter(name)(import_module(modules[module]))


def test_every_citation_has_an_entry_and_every_key_is_used_once():
    bibliography = (ROOT / "book/references.bib").read_text("utf-8")
    keys = re.findall(r"^@\w+\{(\S+),$", bibliography, re.MULTILINE)
    assert len(keys) == len(set(keys))
    cited = {
        key.strip()
        for path in TEXTS
        for found in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", path.read_text("utf-8"))
        for key in found.split(",")
    }
    assert cited <= set(keys)


@pytest.mark.parametrize("path", TEXTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_names_are_spelled_right(path):
    text = path.read_text("utf-8")
    assert {wrong: right for wrong, right in MISSPELLED.items() if re.search(wrong, text)} == {}


def requirements(name: str) -> list[Requirement]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if re.match(r"[A-Za-z]", line)]


def test_binder_installs_what_readers_run():
    binder, book = map(requirements, (".binder/requirements.txt", "requirements.txt"))
    assert {str(r) for r in binder} < {str(r) for r in book}
    # It would number every equation anew beside the book's number, and nothing in the notebooks needs it.
    assert "jupyterlab-myst" not in {r.name for r in book}
    assert (ROOT / ".binder/runtime.txt").read_text("utf-8").strip() == "python-3.11"


def test_the_lock_is_inside_the_ranges_and_every_version_has_hashes():
    lock = (ROOT / "requirements.lock").read_text("utf-8")
    entries = re.findall(
        r"^([\w.-]+)==([^\s;]+)(?: ;[^\n]*)? \\\n((?: +--hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
        lock,
        re.MULTILINE,
    )
    pinned = {name: version for name, version, _ in entries}
    assert len(pinned) == len(re.findall(r"^\w", lock, re.MULTILINE)), "an entry without a hash"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = [
        Requirement(line)
        for group in project["dependency-groups"].values()
        for line in group
        if isinstance(line, str)
    ]
    wanted = [
        *requirements("requirements.txt"),
        *groups,
        *map(Requirement, project["project"]["dependencies"]),
    ]
    for need in wanted:
        assert need.specifier.contains(pinned[need.name.lower().replace("_", "-")]), need


def test_make_help_names_every_target():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    declared = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)[1].split()
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [target for target in declared if f"make {target} " not in shown] == []


def test_roles_in_docstrings_end_on_their_line():
    # The extension escapes signs outside roles line by line: half a formula would be escaped.
    for path in sorted((ROOT / "onestep_lib").rglob("*.py")):
        open_roles = re.findall(r":[a-z:]+:`[^`\n]*$", path.read_text("utf-8"), re.MULTILINE)
        assert not open_roles, path
