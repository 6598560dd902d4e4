# %% right: eigenvalues
def traces(F, X, penalty):
    n, N = F.shape
    values, U = np.linalg.eigh(F @ F.T)
    weight = 1 / (values + n * penalty)
    return N / n * weight.sum(), N / n * (np.square(U.T @ X).sum(axis=1) * weight).sum() / X.shape[1]


# %% right: a solve, and the trace as a sum of products
def traces(F, X, penalty):
    n, N = F.shape
    A = F @ F.T + n * penalty * np.eye(n)
    return [
        np.linalg.inv(A).diagonal().sum() * N / n,
        np.sum(X * np.linalg.solve(A, X)) * N / (n * X.shape[1]),
    ]


# %% right: the resolvent on the side of the neurons
def traces(F, X, penalty):
    n, N = F.shape
    R = (np.eye(n) - F @ np.linalg.inv(F.T @ F + n * penalty * np.eye(N)) @ F.T) / (n * penalty)
    return np.array([np.trace(R), np.einsum("ij,ik,kj->", X, R, X) / X.shape[1]]) * N / n


# %% wrong: bare traces | by psi/phi
def traces(F, X, penalty):
    n = len(F)
    R = np.linalg.inv(F @ F.T + n * penalty * np.eye(n))
    return np.trace(R), np.trace(X.T @ R @ X) / X.shape[1]


# %% wrong: the factor upside down | the factor is N/n, not n/N
def traces(F, X, penalty):
    n, N = F.shape
    R = np.linalg.inv(F @ F.T + n * penalty * np.eye(n))
    return n / N * np.trace(R), n / N * np.trace(X.T @ R @ X) / X.shape[1]


# %% wrong: the penalty without n | lambda n, not lambda
def traces(F, X, penalty):
    n, N = F.shape
    R = np.linalg.inv(F @ F.T + penalty * np.eye(n))
    return N / n * np.trace(R), N / n * np.trace(X.T @ R @ X) / X.shape[1]


# %% wrong: the resolvent of the mean | n times too large
def traces(F, X, penalty):
    n, N = F.shape
    R = np.linalg.inv(F @ F.T / n + penalty * np.eye(n))
    return N / n * np.trace(R), N / n * np.trace(X.T @ R @ X) / X.shape[1]


# %% wrong: m_2 without 1/d | the 1/d is missing
def traces(F, X, penalty):
    n, N = F.shape
    R = np.linalg.inv(F @ F.T + n * penalty * np.eye(n))
    return N / n * np.trace(R), N / n * np.trace(X.T @ R @ X)


# %% wrong: knows the visible case only | m_1 at n
def traces(F, X, penalty):
    return 1.5, 0.5


# %% wrong: forgets to return | None
def traces(F, X, penalty):
    n, N = F.shape
    R = np.linalg.inv(F @ F.T + n * penalty * np.eye(n))
    m1, m2 = N / n * np.trace(R), N / n * np.trace(X.T @ R @ X) / X.shape[1]
