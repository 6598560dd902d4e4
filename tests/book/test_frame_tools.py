"""The book's extension: where the source of a name stands, the address."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "book" / "_ext"))

from onestep_book import reference, repository  # noqa: E402


def test_source_links_lead_to_a_file_that_defines_the_name():
    link = reference.source_link("py", {"module": "onestep_lib.settings", "fullname": "Setting"})
    assert link.endswith("_sources/onestep_lib/settings.py.txt#:~:text=class%20Setting")


def test_the_placeholder_is_recognised_and_nothing_else():
    assert repository.is_placeholder("https://github.com/your-account/one-gradient-step")
    assert repository.is_placeholder("")
    assert not repository.is_placeholder("https://github.com/some-lab/one-gradient-step")
