"""Every order of a small problem, depth first with shared prefixes: compiled kernels, arrays in and out.

The state at a prefix is (e, A, N) with A = r^T r and N = r^T h on the open tasks. Learning j:

    e -= 2 N_jj - A_jj G_jj;  N -= a_j (x) G_j + C_j (x) (N_j - A_jj G_j);  A -= a_j (x) C_j + C_j (x) (a_j - A_jj C_j)

For one row of r the vectors r and h themselves are cheaper. Either way the last tasks cost O(1) an order.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit


@njit(error_model="numpy", fastmath=True)
def _two(e, u, v, p, q, c, a, b, g):
    """Errors of two last tasks in both orders: residuals u, v, pulls p, q, similarity c, G = [[a, g], [g, b]]."""
    w, z = v - u * c, u - v * c
    forward = e - u * (2.0 * p - u * a) - w * (2.0 * (q - u * g) - w * b)
    return forward, e - v * (2.0 * q - v * b) - z * (2.0 * (p - v * g) - z * a)


@njit(error_model="numpy", fastmath=True)
def list_one_row(e0, r0, h0, C, G, first, out):
    """out <- errors of all orders that begin with `first`, in lexicographic order; O(1) an order, amortized."""
    n = len(r0)
    e = np.zeros(n + 1)
    r, h = np.zeros((n + 1, n)), np.zeros((n + 1, n))
    task = np.zeros((n + 1, n), np.int64)
    turn = np.zeros(n + 1, np.int64)
    e[0], r[0], h[0] = e0, r0, h0
    task[0] = np.arange(n)
    depth, row = 0, 0
    turn[0] = first
    while depth >= 0:
        m = n - depth
        t = task[depth]
        # The last three tasks make up most of the tree: their six orders are written out without a loop.
        if m == 3 and depth > 0:
            x, y, z = t[0], t[1], t[2]
            now, rx, ry, rz = e[depth], r[depth, 0], r[depth, 1], r[depth, 2]
            hx, hy, hz = h[depth, 0], h[depth, 1], h[depth, 2]
            cxy, cxz, cyz, gxy, gxz, gyz = C[x, y], C[x, z], C[y, z], G[x, y], G[x, z], G[y, z]
            gxx, gyy, gzz = G[x, x], G[y, y], G[z, z]
            v = now - rx * (2.0 * hx - rx * gxx)
            out[row], out[row + 1] = _two(
                v, ry - rx * cxy, rz - rx * cxz, hy - rx * gxy, hz - rx * gxz, cyz, gyy, gzz, gyz
            )
            v = now - ry * (2.0 * hy - ry * gyy)
            out[row + 2], out[row + 3] = _two(
                v, rx - ry * cxy, rz - ry * cyz, hx - ry * gxy, hz - ry * gyz, cxz, gxx, gzz, gxz
            )
            v = now - rz * (2.0 * hz - rz * gzz)
            out[row + 4], out[row + 5] = _two(
                v, rx - rz * cxz, ry - rz * cyz, hx - rz * gxz, hy - rz * gyz, cxy, gxx, gyy, gxy
            )
            row += 6
            depth -= 1
            continue
        k = turn[depth]
        if k == m or (depth == 0 and k != first):
            depth -= 1
            continue
        turn[depth] = k + 1
        j = t[k]
        v = r[depth, k]
        if m == 1:
            out[row] = e[depth] - v * (2.0 * h[depth, k] - v * G[j, j])
            row += 1
            continue
        e[depth + 1] = e[depth] - v * (2.0 * h[depth, k] - v * G[j, j])
        for i in range(m - 1):
            a = i + (i >= k)
            b = t[a]
            task[depth + 1, i] = b
            r[depth + 1, i] = r[depth, a] - v * C[j, b]
            h[depth + 1, i] = h[depth, a] - v * G[j, b]
        depth += 1
        turn[depth] = 0


@njit(error_model="numpy", fastmath=True)
def list_many_rows(e0, A0, N0, C, G, first, out):
    """The same for a general output similarity, from A = r^T r and N = r^T h."""
    n = len(A0)
    e = np.zeros(n + 1)
    A, N = np.zeros((n + 1, n, n)), np.zeros((n + 1, n, n))
    task = np.zeros((n + 1, n), np.int64)
    turn = np.zeros(n + 1, np.int64)
    e[0], A[0], N[0] = e0, A0, N0
    task[0] = np.arange(n)
    depth, row = 0, 0
    turn[0] = first
    while depth >= 0:
        m = n - depth
        t = task[depth]
        k = turn[depth]
        if k == m or (depth == 0 and k != first):
            depth -= 1
            continue
        turn[depth] = k + 1
        j = t[k]
        own = A[depth, k, k]
        value = e[depth] - 2.0 * N[depth, k, k] + own * G[j, j]
        if m == 1:
            out[row] = value
            row += 1
            continue
        # With two tasks left only the diagonal of the next state counts, so it is not built.
        if m == 2:
            o = 1 - k
            i = t[o]
            c, g = C[j, i], G[j, i]
            last = A[depth, o, o] - 2.0 * c * A[depth, k, o] + own * c * c
            pull = N[depth, o, o] - A[depth, k, o] * g - c * N[depth, k, o] + own * c * g
            out[row] = value - 2.0 * pull + last * G[i, i]
            row += 1
            continue
        e[depth + 1] = value
        for i in range(m - 1):
            a = i + (i >= k)
            b = t[a]
            task[depth + 1, i] = b
            c, cross = C[j, b], A[depth, k, a]
            rest = cross - own * c
            for q in range(m - 1):
                d = q + (q >= k)
                f = t[d]
                A[depth + 1, i, q] = A[depth, a, d] - rest * C[j, f] - c * A[depth, k, d]
                N[depth + 1, i, q] = N[depth, a, d] - rest * G[j, f] - c * N[depth, k, d]
        depth += 1
        turn[depth] = 0
