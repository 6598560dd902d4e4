# %% right: einsum
def gradient(W, a, X, y):
    return np.einsum("j,i,ji,ik->jk", a, y, 1 / np.cosh(W @ X.T) ** 2, X) / len(X)


# %% right: a loop over samples
def gradient(W, a, X, y):
    G = np.zeros(W.shape)
    for x, label in zip(X, y):
        G += label * np.outer(a * (1 - np.tanh(W @ x) ** 2), x)
    return G / len(y)


# %% right: central differences of the error, with the output at the start removed
def gradient(W, a, X, y):
    start = np.tanh(X @ W.T) @ a
    error = lambda V: np.mean((y - np.tanh(X @ V.T) @ a + start) ** 2) / 2
    G = np.zeros(W.shape)
    for place in np.ndindex(*W.shape):
        E = np.zeros(W.shape)
        E[place] = 1e-5
        G[place] = -(error(W + E) - error(W - E)) / 2e-5
    return G


# %% right: the library
from onestep_lib.activations import activation
from onestep_lib.experiment import first_layer_gradient
from onestep_lib.experiment.network import Network


def gradient(W, a, X, y):
    return first_layer_gradient(Network(W, a, activation("tanh")), X, y)


# %% wrong: the sign | the step goes against it
def gradient(W, a, X, y):
    return -(np.outer(a, y) * (1 - np.tanh(W @ X.T) ** 2)) @ X / len(y)


# %% wrong: without 1/n | 1/n of the mean is missing
def gradient(W, a, X, y):
    return (np.outer(a, y) * (1 - np.tanh(W @ X.T) ** 2)) @ X


# %% wrong: the activation for its slope | tanh in place of its slope
def gradient(W, a, X, y):
    return (np.outer(a, y) * np.tanh(W @ X.T)) @ X / len(y)


# %% wrong: without the readout | the readout a_j is missing
def gradient(W, a, X, y):
    return (y * (1 - np.tanh(W @ X.T) ** 2)) @ X / len(y)


# %% wrong: the raw residual | it is y and not y - f
def gradient(W, a, X, y):
    return (np.outer(a, y - np.tanh(X @ W.T) @ a) * (1 - np.tanh(W @ X.T) ** 2)) @ X / len(y)


# %% wrong: without the slope | the slope is missing
def gradient(W, a, X, y):
    return np.outer(a, X.T @ y / len(y))


# %% wrong: the 2 of the square | the 2 of the square
def gradient(W, a, X, y):
    return 2 * (np.outer(a, y) * (1 - np.tanh(W @ X.T) ** 2)) @ X / len(y)


# %% wrong: divided by the neurons | number of neurons, not of samples
def gradient(W, a, X, y):
    return (np.outer(a, y) * (1 - np.tanh(W @ X.T) ** 2)) @ X / len(a)


# %% wrong: knows the visible case only | the shape of W
def gradient(W, a, X, y):
    return np.array([[1.0, 3.0]])
