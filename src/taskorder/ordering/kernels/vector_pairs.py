"""The least c_p + x_p.y_s over two lists of vectors, without trying most pairs. Compiled kernels, arrays in and out.

Around any two centers x, y and for any positive definite M,

    c_p + x_p.y_s = (c_p + x_p.y) + x.(y_s - y) + (x_p - x).(y_s - y)
                 >= (c_p + x_p.y) + x.(y_s - y) - |x_p - x|_M |y_s - y|_(1/M),

so two numbers of each item exclude a pair, and the extremes of a list exclude all its pairs. The product of the norms
is smallest when both lists spread alike: M K M = Q for their covariances K, Q. What remains is split into shorter
lists, which are compared around their own centers, where the norms are smaller.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit

NEVER = 1e300
BLOCK = 64
BINS = 48
SAMPLE = 3
"""Rows from which the covariances are estimated, as a multiple of the dimension."""
SAFETY = np.float32(1.002)
"""Covers the single-precision rounding of the norms: 6e-8 times the condition of M^(1/2) and a small factor."""
FEW = 6
"""A list this short is simply tried against the other."""
DEEP = 256


@njit(error_model="numpy", fastmath=True)
def moments(x, count, columns):
    """Mean and covariance (lower triangle) of some rows, evenly spread over the list."""
    dim = len(columns)
    size = min(count, SAMPLE * dim)
    rows, center, K = np.zeros((size, dim)), np.zeros(dim), np.zeros((dim, dim))
    for i in range(size):
        at = i if size == count else int(count * ((i * 0.6180339887498949) % 1.0))
        for c in range(dim):
            rows[i, c] = x[at, columns[c]]
            center[c] += rows[i, c] / size
    for i in range(size):
        for c in range(dim):
            rows[i, c] -= center[c]
        for c in range(dim):
            f = rows[i, c] / size
            for o in range(c + 1):
                K[c, o] += f * rows[i, o]
    return center, K


@njit(error_model="numpy", fastmath=True)
def cholesky(K):
    """Lower triangular L with L L^T = K; reads the lower triangle of K."""
    L = np.zeros_like(K)
    for i in range(len(K)):
        for j in range(i + 1):
            s = K[i, j]
            for c in range(j):
                s -= L[i, c] * L[j, c]
            L[i, j] = np.sqrt(s) if i == j else s / L[j, j]
    return L


@njit(error_model="numpy", fastmath=True)
def substitute(L, Z, forward):
    """Z <- L^-1 Z (forward) or L^-T Z."""
    dim = len(L)
    for step in range(dim):
        i = step if forward else dim - 1 - step
        for c in range(step):
            j = c if forward else dim - 1 - c
            f = L[i, j] if forward else L[j, i]
            for o in range(dim):
                Z[i, o] -= f * Z[j, o]
        f = 1.0 / L[i, i]
        for o in range(dim):
            Z[i, o] *= f


@njit(error_model="numpy", fastmath=True)
def sandwich(L, Q):
    """L^T Q L for lower triangular L."""
    dim = len(L)
    QL, S = np.zeros((dim, dim)), np.zeros((dim, dim))
    for i in range(dim):
        for c in range(dim):
            f = Q[i, c]
            for o in range(c + 1):
                QL[i, o] += f * L[c, o]
        for c in range(i + 1):
            f = L[i, c]
            for o in range(dim):
                S[c, o] += f * QL[i, o]
    return S


@njit(error_model="numpy", fastmath=True)
def measure(x, count, columns, center, other, F, lower, value, norm):
    """value += x.other and norm = |F (x - center)|, row by row; F: lower or upper triangular."""
    dim = len(columns)
    factor = np.zeros((dim + 1, dim + 4), np.float32)
    for k in range(dim):
        for c in range(dim):
            factor[k, c] = F[k, c]
    block = np.zeros((dim + 4, BLOCK), np.float32)
    total, odd, even = np.zeros(BLOCK, np.float32), np.zeros(BLOCK, np.float32), np.zeros(BLOCK, np.float32)
    for start in range(0, count, BLOCK):
        size = min(BLOCK, count - start)
        for i in range(size):
            s = 0.0
            for c in range(dim):
                v = x[start + i, columns[c]]
                s += v * other[c]
                block[c, i] = v - center[c]
            value[start + i] += s
        for i in range(BLOCK):
            total[i] = 0.0
        for k in range(0, dim, 2):
            for i in range(BLOCK):
                even[i] = odd[i] = 0.0
            for c in range(0 if lower else k, min(k + 2, dim) if lower else dim, 4):
                f0, f1, f2, f3 = factor[k, c], factor[k, c + 1], factor[k, c + 2], factor[k, c + 3]
                g0, g1, g2, g3 = factor[k + 1, c], factor[k + 1, c + 1], factor[k + 1, c + 2], factor[k + 1, c + 3]
                for i in range(BLOCK):
                    b0, b1, b2, b3 = block[c, i], block[c + 1, i], block[c + 2, i], block[c + 3, i]
                    even[i] += (f0 * b0 + f1 * b1) + (f2 * b2 + f3 * b3)
                    odd[i] += (g0 * b0 + g1 * b1) + (g2 * b2 + g3 * b3)
            for i in range(BLOCK):
                total[i] += even[i] * even[i] + odd[i] * odd[i]
        for i in range(size):
            norm[start + i] = SAFETY * np.sqrt(total[i])


@njit(error_model="numpy", fastmath=True)
def project(x, index, columns, center, F, out):
    """out <- rows F (x - center) of the listed items."""
    dim = len(columns)
    row = np.zeros(dim)
    for i in range(len(index)):
        for c in range(dim):
            row[c] = x[index[i], columns[c]] - center[c]
        for k in range(dim):
            s = 0.0
            for c in range(dim):
                s += F[k, c] * row[c]
            out[i, k] = s


@njit(error_model="numpy")
def _retain(value, norm, index, lo, hi, other_lo, other_hi, threshold):
    """Move to the front of index[lo:hi] what may pair with the other range below `threshold`; returns where it ends."""
    top = 0.0
    for i in range(other_lo, other_hi):
        top = max(top, norm[index[i]])
    least, edge = np.full(BINS, NEVER), np.zeros(BINS)
    scale = (BINS - 1) / top if top > 0.0 else 0.0
    for i in range(other_lo, other_hi):
        j = index[i]
        at = int(norm[j] * scale)
        least[at] = min(least[at], value[j])
        edge[at] = max(edge[at], norm[j])
    first, so_far = BINS, NEVER
    for at in range(BINS - 1, -1, -1):  # items with smaller norms matter only if their values are smaller too
        if least[at] < so_far:
            so_far = least[at]
            first -= 1
            least[first], edge[first] = least[at], edge[at]
    end = lo
    for i in range(lo, hi):
        j = index[i]
        low = NEVER
        for at in range(first, BINS):
            low = min(low, least[at] - norm[j] * edge[at])
        if value[j] + low < threshold:
            index[i], index[end] = index[end], j
            end += 1
    return end


@njit(error_model="numpy")
def screen(value, norm, index, lo, hi, threshold):
    """Shorten the lists index[lo[0]:hi[0]] and index[lo[1]:hi[1]], in turn, until neither turn removes much."""
    side, idle = 0, 0
    while idle < 2 and lo[0] < hi[0] and lo[1] < hi[1]:
        end = _retain(value, norm, index, lo[side], hi[side], lo[1 - side], hi[1 - side], threshold)
        idle = idle + 1 if end - lo[side] > 0.8 * (hi[side] - lo[side]) else 0
        hi[side] = end
        side = 1 - side


@njit(error_model="numpy", fastmath=True)
def _recenter(u, value, index, lo, hi, center, value2, norm):
    """Values and norms around the means of the two lists; returns the product of the means, which the values lack."""
    dim = u.shape[1]
    for side in range(2):
        for c in range(dim):
            center[side, c] = 0.0
        for i in range(lo[side], hi[side]):
            for c in range(dim):
                center[side, c] += u[index[i], c]
        for c in range(dim):
            center[side, c] /= hi[side] - lo[side]
    for side in range(2):
        for i in range(lo[side], hi[side]):
            j = index[i]
            s, t = 0.0, 0.0
            for c in range(dim):
                s += u[j, c] * center[1 - side, c]
                t += (u[j, c] - center[side, c]) ** 2
            value2[j], norm[j] = value[j] + s, np.sqrt(t)
    product = 0.0
    for c in range(dim):
        product += center[0, c] * center[1, c]
    return product


@njit(error_model="numpy", fastmath=True)
def _split(u, index, lo, hi, center, norm):
    """Sort index[lo:hi] by the side of the center, towards the farthest item; returns where that side begins."""
    far = index[lo]
    for i in range(lo, hi):
        if norm[index[i]] > norm[far]:
            far = index[i]
    end = lo
    for i in range(lo, hi):
        j = index[i]
        s = 0.0
        for c in range(u.shape[1]):
            s += (u[j, c] - center[c]) * (u[far, c] - center[c])
        if s < 0.0:
            index[i], index[end] = index[end], j
            end += 1
    return end


@njit(error_model="numpy", fastmath=True)
def best_pair(u, value, count, threshold):
    """The least value_p + value_s + u_p.u_s below `threshold`, p < count <= s: (p, s, pairs tried); p = -1 for none."""
    total, dim = u.shape
    index = np.arange(total)
    value2, norm, center = np.zeros(total), np.zeros(total), np.zeros((2, dim))
    stack = np.zeros((DEEP, 2, 2), np.int64)
    lo, hi = np.zeros(2, np.int64), np.zeros(2, np.int64)
    stack[0, 0, 1], stack[0, 1, 0], stack[0, 1, 1] = count, count, total
    top, tried, best_p, best_s = 1, 0, -1, -1
    while top > 0:
        top -= 1
        for side in range(2):
            lo[side], hi[side] = stack[top, side, 0], stack[top, side, 1]
        size = (hi[0] - lo[0]) * (hi[1] - lo[1])
        longer = 1 if hi[1] - lo[1] > hi[0] - lo[0] else 0
        if hi[1 - longer] - lo[1 - longer] > FEW and top < DEEP - 2:
            product = _recenter(u, value, index, lo, hi, center, value2, norm)
            screen(value2, norm, index, lo, hi, threshold + product)
            left = (hi[0] - lo[0]) * (hi[1] - lo[1])
            if left == 0:
                continue
            longer = 1 if hi[1] - lo[1] > hi[0] - lo[0] else 0
            middle = hi[longer]
            if 2 * left > size:
                middle = _split(u, index, lo[longer], hi[longer], center[longer], norm)
            if lo[longer] < middle:  # else all items of the longer list are the same
                for half in range(2):
                    for side in range(2):
                        stack[top, side, 0], stack[top, side, 1] = lo[side], hi[side]
                    stack[top, longer, 1 - half] = middle
                    top += stack[top, longer, 0] < stack[top, longer, 1]
                continue
        tried += (hi[0] - lo[0]) * (hi[1] - lo[1])
        for i in range(lo[0], hi[0]):
            for j in range(lo[1], hi[1]):
                p, s = index[i], index[j]
                t = value[p] + value[s]
                for c in range(dim):
                    t += u[p, c] * u[s, c]
                if t < threshold:
                    threshold, best_p, best_s = t, p, s
    return best_p, best_s, tried
