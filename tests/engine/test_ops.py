import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp

from taskorder.engine import ops


def gradients(function, *arguments):
    def total(*args):
        return jnp.sin(function(*args)).sum()

    return jax.grad(total, argnums=tuple(range(len(arguments))))(*arguments)


@pytest.mark.parametrize("batch", [1, 4, 8, 9])
def test_dense_has_the_gradients_of_a_matrix_product(batch):
    keys = jax.random.split(jax.random.key(batch))
    x, w = jax.random.normal(keys[0], (batch, 7)), jax.random.normal(keys[1], (7, 5))
    np.testing.assert_allclose(ops.dense(x, w), x @ w, rtol=1e-6)
    for ours, plain in zip(gradients(ops.dense, x, w), gradients(jnp.matmul, x, w), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(set(ops.CONV_FORMS) - {"native"}))
def test_forms_of_a_convolution_agree(name):
    keys = jax.random.split(jax.random.key(0))
    x, w = jax.random.normal(keys[0], (2, 6, 5, 3)), jax.random.normal(keys[1], (3, 3, 3, 4))
    form = ops.CONV_FORMS[name]
    np.testing.assert_allclose(form(x, w), ops.conv_native(x, w), rtol=1e-4, atol=1e-5)
    for ours, native in zip(gradients(form, x, w), gradients(ops.conv_native, x, w), strict=True):
        np.testing.assert_allclose(ours, native, rtol=1e-4, atol=1e-4)


def test_a_convolution_by_hand():
    x = np.random.default_rng(0).standard_normal((1, 4, 4, 2)).astype(np.float32)
    w = np.random.default_rng(1).standard_normal((3, 3, 2, 3)).astype(np.float32)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = np.zeros((1, 4, 4, 3))
    for i in range(4):
        for j in range(4):
            wanted[0, i, j] = np.einsum("abc,abco->o", padded[0, i : i + 3, j : j + 3], w)
    np.testing.assert_allclose(ops.conv_native(jnp.asarray(x), jnp.asarray(w)), wanted, rtol=1e-4, atol=1e-5)


def test_the_form_is_chosen_by_time(monkeypatch):
    times = {"native": 3.0, "columns": 1.0, "shifts": 2.0}
    names = {form: name for name, form in ops.CONV_FORMS.items()}
    monkeypatch.setattr(ops, "_seconds", lambda form, networks: times[names[form]])
    ops.conv_form.cache_clear()
    assert ops.conv_form("some device") == "columns"
    times["native"] = 0.5
    assert ops.conv_form("another") == "native"
    ops.conv_form.cache_clear()


def test_average_pool():
    x = jnp.arange(2 * 5 * 4 * 1.0).reshape(2, 5, 4, 1)
    pooled = ops.average_pool(x)
    assert pooled.shape == (2, 2, 2, 1)
    assert float(pooled[0, 0, 0, 0]) == np.mean([0, 1, 4, 5])
