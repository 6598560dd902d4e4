# %% right: least squares in the metric of R
def gain(F, U, y, penalty):
    n = len(y)
    L = np.linalg.cholesky(np.linalg.inv(F @ F.T + penalty * n * np.eye(n)))
    theta = np.linalg.lstsq(L.T @ U, L.T @ y, rcond=None)[0]
    return penalty * (np.sum((L.T @ y) ** 2) - np.sum((L.T @ (y - U @ theta)) ** 2))


# %% right: the difference of two objectives
def gain(F, U, y, penalty):
    n = len(y)
    A = F @ F.T + penalty * n * np.eye(n)
    theta = np.linalg.solve(U.T @ np.linalg.solve(A, U), U.T @ np.linalg.solve(A, y))
    objective = lambda v: penalty * (v @ np.linalg.solve(A, v))
    return float(objective(y) - objective(y - U @ theta))


# %% right: columns of enormous strength in an ordinary ridge regression
def gain(F, U, y, penalty):
    n = len(y)

    def objective(features):
        A = features @ features.T + penalty * n * np.eye(n)
        return penalty * y @ np.linalg.solve(A, y)

    return objective(F) - objective(np.hstack([F, 1e4 * U]))


# %% wrong: what is left | this is the objective that is left
def gain(F, U, y, penalty):
    n = len(y)
    R = np.linalg.inv(F @ F.T + penalty * n * np.eye(n))
    v = U.T @ R @ y
    return penalty * (y @ R @ y - v @ np.linalg.solve(U.T @ R @ U, v))


# %% wrong: without lambda | the factor lambda in front is missing
def gain(F, U, y, penalty):
    n = len(y)
    R = np.linalg.inv(F @ F.T + penalty * n * np.eye(n))
    v = U.T @ R @ y
    return v @ np.linalg.solve(U.T @ R @ U, v)


# %% wrong: the resolvent without n | lambda n
def gain(F, U, y, penalty):
    R = np.linalg.inv(F @ F.T + penalty * np.eye(len(y)))
    v = U.T @ R @ y
    return penalty * v @ np.linalg.solve(U.T @ R @ U, v)


# %% wrong: ordinary least squares on the columns | not fitted in the metric R
def gain(F, U, y, penalty):
    return np.sum((U.T @ y) ** 2 / np.sum(U**2, axis=0)) / len(y)


# %% wrong: one column at a time | gain of 3 columns
def gain(F, U, y, penalty):
    n = len(y)
    R = np.linalg.inv(F @ F.T + penalty * n * np.eye(n))
    return sum(penalty * (u @ R @ y) ** 2 / (u @ R @ u) for u in U.T)


# %% wrong: penalised columns | gain of
def gain(F, U, y, penalty):
    n = len(y)

    def objective(features):
        A = features @ features.T + penalty * n * np.eye(n)
        return penalty * y @ np.linalg.solve(A, y)

    return objective(F) - objective(np.hstack([F, U]))


# %% wrong: knows the visible case only | gain of
def gain(F, U, y, penalty):
    return 4.5
