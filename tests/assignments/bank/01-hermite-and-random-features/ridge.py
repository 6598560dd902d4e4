# %% right: augmented least squares
def ridge(F, y, penalty):
    n, N = F.shape
    tall = np.vstack([F, np.sqrt(n * penalty) * np.eye(N)])
    return np.linalg.lstsq(tall, np.concatenate([y, np.zeros(N)]), rcond=None)[0]


# %% right: the dual system
def ridge(F, y, penalty):
    n = len(y)
    return F.T @ np.linalg.solve(F @ F.T / n + penalty * np.eye(n), y) / n


# %% right: singular values
def ridge(F, y, penalty):
    U, s, Vt = np.linalg.svd(F, full_matrices=False)
    return Vt.T @ (s / (s**2 + len(F) * penalty) * (U.T @ y))


# %% right: scikit-learn
from sklearn.linear_model import Ridge


def ridge(F, y, penalty):
    return Ridge(alpha=len(F) * penalty, fit_intercept=False, solver="svd").fit(F, y).coef_


# %% wrong: the 1/n forgotten | the 1/n of the mean is missing
def ridge(F, y, penalty):
    return np.linalg.solve(F.T @ F + penalty * np.eye(F.shape[1]), F.T @ y)


# %% wrong: penalty divided by n | divided by n where it should be multiplied
def ridge(F, y, penalty):
    n, N = F.shape
    return np.linalg.solve(F.T @ F + penalty / n * np.eye(N), F.T @ y)


# %% wrong: the number of features for that of samples | number of features, not of samples
def ridge(F, y, penalty):
    N = F.shape[1]
    return np.linalg.solve(F.T @ F + N * penalty * np.eye(N), F.T @ y)


# %% wrong: no penalty | this is least squares
def ridge(F, y, penalty):
    return np.linalg.pinv(F) @ y


# %% wrong: knows the visible case only | one coefficient for every column of F
def ridge(F, y, penalty):
    return np.array([0.5, 1.0])


# %% wrong: off by a factor | Which normalisation?
def ridge(F, y, penalty):
    n, N = F.shape
    return np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y) / n


# %% wrong: an intercept was taken out | ridge, F = I
def ridge(F, y, penalty):
    n, N = F.shape
    F, y = F - F.mean(axis=0), y - y.mean()
    return np.linalg.solve(F.T @ F + n * penalty * np.eye(N), F.T @ y)
