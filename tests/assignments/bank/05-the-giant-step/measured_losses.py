# %% right: the first axis as direction
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% right: the dual system
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = F.T @ np.linalg.solve(F @ F.T + n * penalty * np.eye(n), y2)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% right: the library
from onestep_lib.activations import activation
from onestep_lib.experiment import first_layer_gradient, ridge_path
from onestep_lib.experiment.network import Network


def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    rows = []
    for _ in range(draws):
        beta = rng.standard_normal(d)
        beta /= np.linalg.norm(beta)
        network = Network(rng.normal(0, d**-0.5, (N, d)), rng.choice([-1, 1], N) / N**0.5, activation("tanh"))
        X = rng.standard_normal((2 * n + 400, d))
        y = np.sin(X @ beta) + rng.normal(0, noise, 2 * n + 400)
        G = first_layer_gradient(network, X[:n], y[:n])
        row = []
        for step in steps:
            F = np.tanh(X[n:] @ (network.weights + step * G).T)
            a = np.ravel(ridge_path(F[:n], y[n : 2 * n], penalty).coefficients)
            row.append(np.mean((y[2 * n :] - F[n:] @ a) ** 2))
        rows.append(row)
    return rows


# %% wrong: one batch for both | fitted on a second batch
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X_new = rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% wrong: new labels without noise | need their noise as well
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((np.sin(X_new[:, 0]) - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% wrong: the training loss | this is the training loss
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((y2 - F @ fit) ** 2)
    return table


# %% wrong: no step | the step has no effect
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + 0 * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% wrong: without 1/n | mean test loss
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% wrong: unseeded noise | draw everything from `rng`
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (
            np.sin(x[:, 0]) + noise * np.random.default_rng().standard_normal(len(x)) for x in (X, X2, X_new)
        )
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% wrong: the mean of the draws | one row a draw
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table.mean(axis=0)


# %% wrong: a penalty without n | mean test loss
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    table = np.empty((draws, len(steps)))
    for i in range(draws):
        W0, a = rng.standard_normal((N, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], N) / np.sqrt(N)
        X, X2, X_new = rng.standard_normal((n, d)), rng.standard_normal((n, d)), rng.standard_normal((400, d))
        y, y2, y_new = (np.sin(x[:, 0]) + noise * rng.standard_normal(len(x)) for x in (X, X2, X_new))
        G = (np.outer(a, y) / np.cosh(W0 @ X.T) ** 2) @ X / n
        for j, step in enumerate(steps):
            W = W0 + step * G
            F = np.tanh(X2 @ W.T)
            fit = np.linalg.solve(F.T @ F + penalty * np.eye(N), F.T @ y2)
            table[i, j] = np.mean((y_new - np.tanh(X_new @ W.T) @ fit) ** 2)
    return table


# %% wrong: a constant | all draws are equal
def measured_losses(steps, n, d, N, noise, penalty, draws, rng):
    return np.full((draws, len(steps)), 0.25)
