# %% right: a loop
def free_powers(alpha, coefficients):
    found = []
    if coefficients[1]:
        for k, c in enumerate(coefficients):
            if k > 0 and abs(c) > 0 and 0.5 + k * (alpha - 0.5) > 0:
                found.append(k)
    return found


# %% right: arrays
def free_powers(alpha, coefficients):
    c = np.array(coefficients, dtype=float)
    k = np.arange(len(c))
    return k[(k > 0) & (c != 0) & (k * (1 - 2 * alpha) < 1) & (c[1] != 0)]


# %% right: stops at the first power that is not free
from itertools import count, takewhile


def free_powers(alpha, coefficients):
    reach = takewhile(lambda k: alpha > (k - 1) / (2 * k), count(1))
    return [k for k in reach if k < len(coefficients) and coefficients[k] and coefficients[1]]


# %% wrong: every power up to the level | a spike with c_k = 0 does not exist
def free_powers(alpha, coefficients):
    return [k for k in range(1, len(coefficients)) if (alpha - 0.5) * k + 0.5 > 0]


# %% wrong: k = 0 counted | k = 0 is no spike
def free_powers(alpha, coefficients):
    return [k for k, c in enumerate(coefficients) if c != 0 and (alpha - 0.5) * k + 0.5 > 0]


# %% wrong: positive coefficients only | a negative c_k makes a spike as well
def free_powers(alpha, coefficients):
    return [k for k, c in enumerate(coefficients) if k and c > 0 and (alpha - 0.5) * k + 0.5 > 0]


# %% wrong: a spike that grows slower than the bulk | alpha = 0.3
def free_powers(alpha, coefficients):
    return [k for k, c in enumerate(coefficients) if k and c and (alpha - 0.5) * k + 1 > 0]


# %% wrong: without the condition on c_1 | with c_1 = 0
def free_powers(alpha, coefficients):
    return [k for k, c in enumerate(coefficients) if k and c and (alpha - 0.5) * k + 0.5 > 0]


# %% wrong: knows the visible case only | is expected, yours is
def free_powers(alpha, coefficients):
    return [k for k in (1, 2) if coefficients[k] != 0]


# %% wrong: the number in place of the list | TypeError
def free_powers(alpha, coefficients):
    return int(1 / (1 - 2 * alpha))
