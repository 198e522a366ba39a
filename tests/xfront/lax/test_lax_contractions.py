"""dot, dot_general and convolutions against NumPy."""

import itertools

import numpy as np
import pytest

import xfront
import xfront.numpy as jnp
from xfront import lax

R = np.random.RandomState(0)
A, B = R.randn(3, 4).astype(np.float32), R.randn(4, 5).astype(np.float32)


def close(made, wanted):
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-4)


def test_dot():
    close(lax.dot(A, B), A @ B)
    close(lax.dot(A, B[:, 0]), A @ B[:, 0])
    close(lax.dot(A, A, dimension_numbers=(((1,), (1,)), ((), ()))), A @ A.T)
    close(lax.dot_general(A, A, (([1], [1]), ([0], [0]))), (A * A).sum(1))
    close(lax.batch_matmul(A[None], B[None]), (A @ B)[None])
    assert lax.dot(A, B, preferred_element_type="float16").dtype == np.float16
    assert lax.dot(A, B.astype(np.int32)).dtype == np.float32
    close(lax.dot(A, B, precision=(lax.Precision.HIGH, lax.Precision.HIGHEST)), A @ B)


def test_dot_has_derivative():
    close(xfront.grad(lambda a: lax.dot(a, B).sum())(A), np.broadcast_to(B.sum(1), A.shape))
    close(xfront.vmap(lax.dot, in_axes=(0, None))(A, B), A @ B)


@pytest.mark.parametrize(("error", "call"), [
    (ValueError, lambda: lax.dot(A, A)), (ValueError, lambda: lax.batch_matmul(A[0], A[0])),
    (ValueError, lambda: lax.dot(A, B, precision="foo")),
    (TypeError, lambda: lax.dot_general(A, B, (((0,), (0,)), ((), ())))),
    (RuntimeError, lambda: lax.conv(np.ones((1, 1, 4), np.float32), np.ones((1, 1, 2), np.float32),
                                    (1,), "FOO")),
    (TypeError, lambda: lax.conv_dimension_numbers((1,) * 4, (1,) * 4, ("NHC", "HWIO", "NHWC"))),
    (TypeError, lambda: lax.conv_general_permutations(("NHHC", "HHIO", "NHHC")))])
def test_errors(error, call):
    with pytest.raises(error):
        call()


def convolved(x, k, strides, pads):
    """Convolution of NCHW with OIHW, one product at a time."""
    x = np.pad(x, ((0, 0), (0, 0), *pads))
    h, w = k.shape[2:]
    rows, cols = ((n - m) // s + 1 for n, m, s in zip(x.shape[2:], (h, w), strides, strict=True))
    out = np.zeros((x.shape[0], k.shape[0], rows, cols))
    for i, j in itertools.product(range(rows), range(cols)):
        block = x[:, :, i * strides[0]:i * strides[0] + h, j * strides[1]:j * strides[1] + w]
        out[:, :, i, j] = np.einsum("nchw,ochw->no", block, k)
    return out


X, K = R.randn(2, 3, 6, 7).astype(np.float32), R.randn(4, 3, 3, 2).astype(np.float32)


def test_conv():
    close(lax.conv(X, K, (1, 1), "VALID"), convolved(X, K, (1, 1), ((0, 0), (0, 0))))
    close(lax.conv(X, K, (2, 1), "SAME"), convolved(X, K, (2, 1), ((0, 1), (0, 1))))
    last = lax.conv_general_dilated(X.transpose(0, 2, 3, 1), K.transpose(2, 3, 1, 0), (1, 2),
                                    ((1, 1), (0, 0)), dimension_numbers=("NHWC", "HWIO", "NHWC"))
    close(last, convolved(X, K, (1, 2), ((1, 1), (0, 0))).transpose(0, 2, 3, 1))


def test_conv_groups_and_dilation():
    k = K[:, :1]
    x = np.repeat(X[:, :1], 2, 1)
    grouped = lax.conv_general_dilated(x, k, (1, 1), "VALID", feature_group_count=2)
    close(grouped, convolved(x[:, :1], k, (1, 1), ((0, 0), (0, 0))))
    spread = np.zeros((4, 3, 5, 2), np.float32)
    spread[:, :, ::2] = K
    close(lax.conv_general_dilated(X, K, (1, 1), "VALID", rhs_dilation=(2, 1)),
          convolved(X, spread, (1, 1), ((0, 0), (0, 0))))


def test_conv_transpose_is_the_transpose():
    def forward(x):
        return lax.conv_general_dilated(x, k, (2, 2), "VALID",
                                        dimension_numbers=("NHWC", "HWIO", "NHWC"))

    k = R.randn(2, 2, 3, 4).astype(np.float32)
    x = R.randn(1, 6, 6, 3).astype(np.float32)
    y, pull = xfront.vjp(forward, x)
    ct = R.randn(*y.shape).astype(np.float32)
    close(lax.conv_transpose(ct, k, (2, 2), "VALID", transpose_kernel=True), pull(ct)[0])
    same = lax.conv_transpose(ct, k.transpose(0, 1, 3, 2), (2, 2), "SAME")
    assert same.shape == (1, 6, 6, 3)


def test_shapes_and_patches():
    assert lax.padtype_to_pads((8, 8), (3, 3), (2, 2), "SAME_LOWER") == [(1, 0), (1, 0)]
    assert lax.conv_general_shape_tuple(X.shape, K.shape, (1, 1), "SAME",
                                        ("NCHW", "OIHW", "NHWC")) == (2, 6, 7, 4)
    assert lax.conv_transpose_shape_tuple((1, 2, 8, 8), (3, 2, 3, 3), (2, 2), "SAME",
                                          ("NCHW", "OIHW", "NCHW")) == (1, 3, 16, 16)
    patches = lax.conv_general_dilated_patches(X, (2, 2), (1, 1), "VALID")
    assert patches.shape == (2, 12, 5, 6)
    close(patches[:, :, 1, 2], X[:, :, 1:3, 2:4].reshape(2, 12))


@pytest.mark.parametrize("padding", [1, (1, 1), [(1, 1), 1], np.int32(1)])
def test_padding_is_pairs(padding):
    x, k = np.ones((1, 1, 4, 4), np.float32), np.ones((1, 1, 3, 3), np.float32)
    with pytest.raises(ValueError, match=r"\(low, high\) pairs"):
        lax.conv_general_dilated(x, k, (1, 1), padding)
    with pytest.raises(ValueError, match=r"\(low, high\) pairs"):
        lax.conv_transpose(x, k, (1, 1), padding, dimension_numbers=("NCHW", "OIHW", "NCHW"))


def test_transposed_convolutions_padded_at_the_lower_end():
    x = np.arange(1.0, 4).reshape(1, 1, 3).astype(np.float32)
    k = np.arange(1.0, 5).reshape(1, 1, 4).astype(np.float32)
    numbers = ("NCH", "OIH", "NCH")
    made = lax.conv_transpose(x, k, (1,), "SAME_LOWER", dimension_numbers=numbers)
    assert made.tolist() == [[[11.0, 20.0, 14.0]]]
    with pytest.raises(ValueError, match="with strides"):
        lax.conv_transpose(x, k, (2,), "SAME_LOWER", dimension_numbers=numbers)


def test_floats_summed_for_an_integer_are_summed_as_floats() -> None:
    x = jnp.array([0.0, 0.84, 0.909, 0.141])
    for made in (lax.dot(x, x, preferred_element_type=int),
                 jnp.matmul(x, x, preferred_element_type=jnp.int32),
                 jnp.einsum("i,i", x, x, preferred_element_type=int)):
        assert made == 1 and made.dtype == jnp.int32
    image, window = jnp.ones((1, 1, 3)), jnp.ones((1, 1, 2))
    with pytest.raises(TypeError, match="preferred_element_type must be a float"):
        lax.conv(image, window, (1,), "SAME", preferred_element_type=int)
    with pytest.raises(ValueError, match="strides must be positive"):
        lax.conv(image, window, (0,), "SAME")


@pytest.mark.parametrize("size", [0, -1])
def test_batches_of_map_have_elements(size: int) -> None:
    with pytest.raises(ValueError, match="batch_size must be a positive integer"):
        lax.map(jnp.sin, jnp.ones(3), batch_size=size)


def test_features_and_groups_of_convolutions_fit():
    x, k = jnp.ones((2, 4, 8, 8)), jnp.ones((6, 4, 3, 3))
    for wrong in ({"feature_group_count": 2}, {"feature_group_count": 0}, {"batch_group_count": 4},
                  {"batch_group_count": -1}, {"dimension_numbers": ("NHWC", "OIHW", "NHWC")},
                  {"feature_group_count": 2, "batch_group_count": 2}):
        with pytest.raises(ValueError, match="groups|group_count"):
            lax.conv_general_dilated(x, k, (1, 1), "SAME", **wrong)
    with pytest.raises(TypeError, match="must be an integer"):
        lax.conv_general_dilated(x, k, (1, 1), "SAME", feature_group_count=1.5)
    for much in (-9, 0), (-5, -4):
        with pytest.raises(ValueError, match="removes more elements than the spatial axes"):
            lax.conv_general_dilated(x, k, (1, 1), [much, (0, 0)])


def test_convolutions_of_no_features_are_zero():
    made = lax.conv(jnp.ones((1, 0, 8, 8)), jnp.ones((3, 0, 3, 3)), (1, 1), "SAME")
    assert made.shape == (1, 3, 8, 8) and not made.any()
