"""The linear transform of soft debiasing (Bolukbasi et al. 2016)."""

import numpy as np

# Eigenvalues below this share of the largest belong to directions that no vector has.
_NO_SPREAD = 1e-10


def soft_transform(all_words: np.ndarray, neutral: np.ndarray, direction: np.ndarray, weight: float) -> np.ndarray:
    """Solve for the symmetric T, given W Wᵀ of all words and N Nᵀ of the neutral ones, each of shape (d, d)."""
    scale, axes = np.linalg.eigh(all_words)
    spread = scale > _NO_SPREAD * scale[-1]
    # Seen from here W Wᵀ is the identity: with Q = G½ TᵀT G½ the terms are ‖Q − G‖² and λ uᵀ Q H Q u.
    root = np.sqrt(scale[spread])
    axes = axes[:, spread]
    gram = np.diag(scale[spread])
    part = (axes / root).T @ neutral @ (axes / root)
    along = (axes / root).T @ direction
    solution = _stationary(gram, part, along, weight)
    values, turned = np.linalg.eigh(solution)
    if values[0] < -_NO_SPREAD * values[-1]:
        solution = _descend((turned * np.sqrt(np.maximum(values, 0))) @ turned.T, gram, part, along, weight)
    inner = solution / np.outer(root, root)
    values, turned = np.linalg.eigh((inner + inner.T) / 2)
    turned = axes @ turned
    # Directions that no vector has are left as they are.
    beyond = np.eye(len(all_words)) - axes @ axes.T
    return (turned * np.sqrt(np.maximum(values, 0))) @ turned.T + beyond


def _stationary(gram, part, along, weight):
    """Find the symmetric Q at which the gradient 2(Q − G) + λ(H Q u uᵀ + u uᵀ Q H) is zero."""
    # q = Q u solves a linear system; then Q = G − λ/2 (H q uᵀ + u qᵀ H).
    system = np.eye(len(along)) + weight / 2 * ((along @ along) * part + np.outer(along, along @ part))
    pulled = part @ np.linalg.solve(system, gram @ along)
    return gram - weight / 2 * (np.outer(pulled, along) + np.outer(along, pulled))


def _descend(start, gram, part, along, weight):
    """Minimise the terms over Q = L Lᵀ, which is positive semidefinite, from a first L."""
    from scipy import optimize

    found = optimize.minimize(
        _objective,
        start.ravel(),
        args=(gram, part, along, weight),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-10 * float(np.abs(gram).max())},
    )
    factor = found.x.reshape(gram.shape)
    return factor @ factor.T


def _objective(factor, gram, part, along, weight):
    """Return the sum of the two terms and its gradient at Q = L Lᵀ."""
    factor = factor.reshape(gram.shape)
    solution = factor @ factor.T
    change, pulled = solution - gram, part @ (solution @ along)
    value = (change**2).sum() + weight * (solution @ along) @ pulled
    slope = 2 * change + weight * (np.outer(pulled, along) + np.outer(along, pulled))
    return value, (2 * slope @ factor).ravel()
