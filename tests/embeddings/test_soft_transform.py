import numpy as np
import pytest
from scipy import optimize

from biaslib.embeddings import _soft_transform


def soft_terms(transform, rows, neutral, direction):
    """The paper's two terms, as it writes them."""
    turned = transform @ rows.T
    change = turned.T @ turned - rows @ rows.T
    leak = (transform @ rows[neutral].T).T @ (transform @ direction)
    return (change**2).sum(), (leak**2).sum()


def soft_case(seed, n_neutral, n=30, dimensions=4):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, dimensions)) + rng.normal(size=dimensions)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    direction = rng.normal(size=dimensions)
    return rows, np.arange(n) < n_neutral, direction / np.linalg.norm(direction)


def solved(rows, neutral, direction, weight):
    return _soft_transform.soft_transform(rows.T @ rows, rows[neutral].T @ rows[neutral], direction, weight)


@pytest.mark.parametrize(("seed", "n_neutral", "weight"), [(0, 25, 0.2), (1, 30, 20.0), (2, 10, 500.0), (3, 0, 1.0)])
def test_soft_transform_is_the_least_of_the_papers_objective(seed, n_neutral, weight):
    rows, neutral, direction = soft_case(seed, n_neutral)

    def objective(transform):
        first, second = soft_terms(transform.reshape(4, 4), rows, neutral, direction)
        return first + weight * second

    found = objective(solved(rows, neutral, direction, weight))
    assert found <= objective(np.eye(4)) + 1e-12
    start = np.eye(4).ravel() + np.random.default_rng(seed).normal(scale=0.05, size=16)
    descended = optimize.minimize(objective, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000})
    assert found == pytest.approx(descended.fun, rel=1e-6, abs=1e-8)


def test_soft_transform_where_the_linear_system_does_not_do():
    # The only neutral word lies along the direction: what solves the system has a negative eigenvalue.
    rows = np.array([[1.0, 0], [0.6, 0.8], [0.6, 0.8], [0.8, 0.6]])
    neutral, direction = np.array([True, False, False, False]), np.array([1.0, 0])
    along_axes = np.linalg.eigh(rows.T @ rows)
    root = np.sqrt(along_axes[0])
    axes = along_axes[1] / root
    stationary = _soft_transform._stationary(
        np.diag(root**2), axes.T @ np.diag([1.0, 0]) @ axes, axes.T @ direction, weight=1000.0
    )
    assert np.linalg.eigvalsh(stationary)[0] < 0

    def objective(transform):
        first, second = soft_terms(transform.reshape(2, 2), rows, neutral, direction)
        return first + 1000 * second

    found = objective(solved(rows, neutral, direction, 1000.0))
    starts = np.random.default_rng(0).normal(size=(20, 4))
    descended = min(optimize.minimize(objective, start, method="BFGS").fun for start in starts)
    assert found == pytest.approx(descended, rel=1e-5)


def test_gradient_against_finite_differences():
    rows, neutral, direction = soft_case(5, 20)
    gram, part = np.diag(np.arange(1.0, 5)), rows[neutral].T @ rows[neutral]

    def value(factor):
        return _soft_transform._objective(factor, gram, part, direction, 3.0)[0]

    def slope(factor):
        return _soft_transform._objective(factor, gram, part, direction, 3.0)[1]

    point = np.random.default_rng(1).normal(size=16)
    assert optimize.check_grad(value, slope, point) < 1e-4 * np.linalg.norm(slope(point))


def test_soft_objective_is_the_papers():
    rows, neutral, direction = soft_case(6, 20)
    scale, axes = np.linalg.eigh(rows.T @ rows)
    root = np.sqrt(scale)
    transform = np.random.default_rng(2).normal(size=(4, 4))
    whitened = (axes / root).T @ rows[neutral].T @ rows[neutral] @ (axes / root)
    factor = (root * (axes.T @ transform.T).T).T
    value, _ = _soft_transform._objective(factor.ravel(), np.diag(scale), whitened, (axes / root).T @ direction, 0.7)
    first, second = soft_terms(transform, rows, neutral, direction)
    assert value == pytest.approx(first + 0.7 * second)
