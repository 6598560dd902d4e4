"""Draw book/_static/social-card.png: the test loss against the step, theory through networks of two sizes.

    python -m book._tools.social_card

The dots come from the stored table of three sizes. Run it again when the title or the colours change; the picture
is committed, as README and the sites that show it want a plain file.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from onestep_lib import one_step
from onestep_lib.experiment import spec_settings, stored_table

TARGET = Path(__file__).resolve().parents[1] / "_static" / "social-card.png"
GROUND, INK, THEORY, DOTS = "#0b3c5d", "#ffffff", "#f2b134", "#9fd3ff"


def draw() -> None:
    table, settings = stored_table("three_sizes"), spec_settings("three_sizes")
    figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor=GROUND)
    axes = figure.add_axes((0.5, 0.14, 0.46, 0.74), facecolor="none")
    setting = settings["d = 450"]
    steps = setting.n ** np.linspace(-0.05, 0.8, 60)
    axes.plot(steps, one_step(setting.replace(step=steps)).test, color=THEORY, linewidth=4)
    rows = (table["point"] == "d = 450") & (table["step"] > 0)
    axes.errorbar(
        table["step"][rows],
        table["test"][rows],
        2 * table["test_se"][rows],
        fmt="o",
        color=DOTS,
        markersize=9,
        linewidth=2,
    )
    axes.set(xscale="log", ylim=(0, None))
    axes.set_xticks([])
    axes.set_xticks([], minor=True)
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.set_xlabel("size of the step", color=INK, fontsize=18)
    axes.set_ylabel("test loss", color=INK, fontsize=18)
    figure.text(0.05, 0.6, "One Gradient Step", color=INK, fontsize=34, weight="bold")
    figure.text(0.05, 0.36, "What a two-layer network\nlearns from it:\nderived and simulated", color=INK,
                fontsize=22, linespacing=1.4)  # fmt: skip
    figure.savefig(TARGET, facecolor=GROUND)


if __name__ == "__main__":
    draw()
