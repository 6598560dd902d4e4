def compare(name, found, right, tolerance, suspects=()):
    """Stop with a message that says how an answer is wrong; a suspect is (what may have happened, its value)."""
    assert found is not None, f"{name}: your function returned None. Does it end with `return`?"
    try:
        found = np.asarray(found, dtype=float)
    except (TypeError, ValueError):
        raise AssertionError(
            f"{name}: numbers are expected, your answer is a {type(found).__name__}"
        ) from None
    right = np.asarray(right, dtype=float)
    assert found.shape == right.shape, f"{name}: shape {right.shape} is expected, yours is {found.shape}"
    assert np.all(np.isfinite(found)), f"{name}: not every number is finite: {found}"
    if np.all(np.abs(found - right) <= tolerance):
        return
    for reason, value in suspects:
        if np.all(np.abs(found - value) <= tolerance):
            raise AssertionError(f"{name}: {reason}")
    size = np.sum(right * right)
    factor = np.sum(found * right) / size if size else np.nan
    is_multiple = np.all(np.abs(found - factor * right) <= tolerance * max(1, abs(factor)))
    if is_multiple and np.count_nonzero(right) > 1:  # one number is always a multiple of another
        raise AssertionError(f"{name}: yours is {factor:.4g} times what it should be. Which normalisation?")
    raise AssertionError(
        f"{name}: {np.array2string(right, precision=5)} is expected, to within {np.max(tolerance):.2g}; "
        f"yours is {np.array2string(found, precision=5)}"
    )
