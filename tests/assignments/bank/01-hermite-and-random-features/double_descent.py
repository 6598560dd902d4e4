# %% right: a loop and lists
rng = np.random.default_rng(7)
curve, curve_se = [], []
for N in widths:
    found = draw_losses(n, d, int(N), noise, 0.001, 40, rng)
    curve.append(np.mean(found))
    curve_se.append(np.std(found, ddof=1) / 40**0.5)

# %% right: the biased spread
rng = np.random.default_rng(7)
table = np.stack([draw_losses(n, d, N, noise, 1e-3, 40, rng) for N in widths])
curve, curve_se = np.mean(table, 1), np.std(table, 1) / np.sqrt(39)

# %% right: a generator for each width
table = [draw_losses(n, d, N, noise, 1e-3, 40, g) for N, g in zip(widths, np.random.default_rng(7).spawn(5))]
curve = np.array([np.mean(row) for row in table])
curve_se = np.array([np.std(row, ddof=1) for row in table]) / np.sqrt(40)

# %% wrong: the penalty of the first cell | Is the penalty 0.001
rng = np.random.default_rng(7)
table = np.stack([draw_losses(n, d, N, noise, penalty, 40, rng) for N in widths])
curve, curve_se = np.mean(table, 1), np.std(table, 1) / np.sqrt(40)

# %% wrong: standard deviations | this is the spread of one draw
rng = np.random.default_rng(7)
table = np.stack([draw_losses(n, d, N, noise, 1e-3, 40, rng) for N in widths])
curve, curve_se = np.mean(table, 1), np.std(table, 1)

# %% wrong: means over the wrong axis | one mean for each width
rng = np.random.default_rng(7)
table = np.stack([draw_losses(n, d, N, noise, 1e-3, 40, rng) for N in widths])
curve, curve_se = np.mean(table, 0), np.std(table, 0) / np.sqrt(5)

# %% wrong: samples and neurons exchanged | a peak is expected at N = n
rng = np.random.default_rng(7)
table = np.stack([draw_losses(N, d, n, noise, 1e-3, 40, rng) for N in widths[::-1]])
table = np.roll(table, 1, axis=0)
curve, curve_se = np.mean(table, 1), np.std(table, 1) / np.sqrt(40)

# %% wrong: without noise | are the labels noisy?
rng = np.random.default_rng(7)
table = np.stack([draw_losses(n, d, N, 0, 1e-3, 40, rng) for N in widths])
curve, curve_se = np.mean(table, 1), np.std(table, 1) / np.sqrt(40)

# %% wrong: a constant | a peak is expected at N = n
curve, curve_se = np.ones(5), np.full(5, 0.02)

# %% wrong: twice the loss | curve at N
rng = np.random.default_rng(7)
table = np.stack([draw_losses(n, d, N, noise, 1e-3, 40, rng) for N in widths])
curve, curve_se = 2 * np.mean(table, 1), np.std(table, 1) / np.sqrt(40)
