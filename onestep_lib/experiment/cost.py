"""What a repeat of a simulation costs: operations, memory, and seconds on this machine."""

from __future__ import annotations

import time
from functools import cache

import numpy as np

from onestep_lib._threads import one_thread
from onestep_lib.settings import Setting


def operations(setting: Setting) -> np.ndarray:
    """Flops of products and Cholesky factors, of diagonalisations, and elements drawn or passed on."""
    n, d, N, steps, ridges = setting.n, setting.d, setting.N, setting.steps.size, setting.ridges.size
    tests, small = max(2000, 2 * n), min(n, N)
    taken = 0 if not np.any(setting.steps) else setting.step_samples
    updates = setting.updates if isinstance(setting.updates, int) else len(setting.updates.factors)
    products = 4 * taken * N * d * (updates if updates == 1 else updates * steps)
    products += 2 * steps * ((n + tests) * N * d + small * n * N + (tests + n) * N * ridges)
    dense = steps * ridges * small**3 / 3 if ridges <= 4 else 0.0
    elements = (n + taken + tests + N) * d + steps * (n + tests) * N + taken * N
    return np.array([products + dense, 9.0 * steps * small**3 if ridges > 4 else 0.0, elements])


def flops(setting: Setting) -> float:
    """Flops of one repeat."""
    return float(operations(setting)[:2].sum())


def peak_bytes(setting: Setting) -> float:
    """What is held at once: batches, features or slopes, a chunk of the test set, two Gram matrices."""
    n, d, N, small = setting.n, setting.d, setting.N, min(setting.n, setting.N)
    tests = max(2000, 2 * n)
    return 8.0 * (
        (n + min(tests, 2048)) * d + 4 * N * d + n * N + max(n * N, 2 * small**2)
        + setting.step_samples * d
    )  # fmt: skip


@cache
def _seconds_each() -> np.ndarray:
    """Seconds of a flop in a product, of one in a diagonalisation, and of an element, on one thread."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((400, 400))
    actions = (
        (lambda: A @ A, 2 * 400**3),
        (lambda: np.linalg.eigh(A), 9 * 400**3),
        (lambda: rng.standard_normal(400**2), 400**2),
    )
    times = []
    with one_thread():
        for action, count in actions:
            action()
            start = time.process_time()
            for _ in range(3):
                action()
            times.append((time.process_time() - start) / (3 * count))
    return np.array(times)


def seconds(setting: Setting) -> float:
    """CPU seconds of one repeat on this machine, by a model whose three prices are measured once."""
    return float(operations(setting) @ _seconds_each())
