"""Draw book/_static/social-card.png: double descent, theory through simulated dots.

    python -m book._tools.social_card

Run it again when the title or the colours change; the picture is committed, as sites that show it
want a plain file.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from onestep_lib import Setting, random_features, simulate

TARGET = Path(__file__).resolve().parents[1] / "_static" / "social-card.png"
GROUND, INK, THEORY, DOTS = "#0b3c5d", "#ffffff", "#f2b134", "#9fd3ff"
SAMPLES, DIMENSION = 300, 200


def setting(width: int) -> Setting:
    return Setting(n=SAMPLES, d=DIMENSION, N=width, activation="tanh", target=(0, 1), noise=0.3, ridge=1e-3)


def draw() -> None:
    widths = np.unique(np.geomspace(60, 1500, 60).astype(int))
    dots = widths[2::6]
    rng = np.random.default_rng(1)
    drawn = [simulate(setting(int(width)), rng, repeats=8) for width in dots]
    figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor=GROUND)
    axes = figure.add_axes((0.56, 0.14, 0.39, 0.72), facecolor="none")
    exact = [float(random_features(setting(int(width))).test) for width in widths]
    axes.plot(widths / SAMPLES, exact, color=THEORY, linewidth=4)
    axes.errorbar(
        dots / SAMPLES, [s.test for s in drawn], [2 * s.test_se for s in drawn],
        fmt="o", color=DOTS, markersize=9, linewidth=2,
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xticks([])
    axes.set_xticks([], minor=True)
    axes.set_yticks([])
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(INK)
    axes.set_xlabel("width / samples", color=INK, fontsize=18)
    axes.set_ylabel("test error", color=INK, fontsize=18)
    figure.text(0.05, 0.6, "One Gradient Step", color=INK, fontsize=34, weight="bold")
    figure.text(0.05, 0.36, "What a two-layer network\nlearns from it:\nderived and simulated", color=INK,
                fontsize=22, linespacing=1.4)  # fmt: skip
    figure.savefig(TARGET, facecolor=GROUND)


if __name__ == "__main__":
    draw()
