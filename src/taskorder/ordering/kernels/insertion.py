"""Insertion moves: an order with enough state to price a move of one task to every other position, and to make it.

Let F_t be the row C_t carried through every task after t, <x, y> = x W y^T, and rho the final residual (one for each
row of r). The state of an order is

    Phi[s, t] = <F_s, F_t>,   f[t] = <F_t, rho>,   v[t] = r_t when t is learned,
    A[s, t] = what C_s has become at t just before t is learned (s before t; stored symmetrically).

Taken out of its position, task i leaves rho' = rho + v_i F_i, and F_t + A[t, i] F_i for the tasks t before it. Put
back at a position where its residual is u and its row ends as y, it leaves the error <rho', rho'> - 2 u <y, rho'> + u^2
<y, y>. Past a neighbor t on the right y becomes y + C_it F_t; past one on the left y - C_it F_t (F_t without i). So
one row operation of length n prices one position; only Phi, f, v and A[i] are read, so G may be indefinite and r may
have many rows. All arrays are indexed by task, not by position, so a move never shifts them.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

from __future__ import annotations

from taskorder.ordering.kernels.jit import njit


@njit(fastmath=True, error_model="numpy")
def price(i, error, order, pos, v, f, C, A, Phi, precedes, cost, z, d, u):
    """Write into cost[q] the error with task i at position q, for the allowed lo <= q <= hi; give (lo, hi)."""
    n = len(order)
    k = v.shape[1]
    p = pos[i]
    own = Phi[i]
    back = A[i]
    base = error
    for c in range(k):
        base += v[i, c] * (2.0 * f[i, c] + v[i, c] * own[i])
    cost[p] = error
    # To the right: the tasks there do not feel i, only their residuals do.
    for c in range(k):
        u[c] = v[i, c]
        d[c] = f[i, c] + v[i, c] * own[i]
    for s in range(n):  # slices take seconds to compile
        z[s] = own[s]
    norm = own[i]
    hi = p
    while hi < n - 1:
        t = order[hi + 1]
        if precedes[i, t]:
            break
        hi += 1
        x = C[i, t]
        norm += x * (2.0 * z[t] + x * Phi[t, t])
        cross = 0.0
        square = 0.0
        for c in range(k):
            u[c] -= x * (v[t, c] + v[i, c] * back[t])
            d[c] += x * (f[t, c] + v[i, c] * own[t])
            cross += u[c] * d[c]
            square += u[c] * u[c]
        cost[hi] = base - 2.0 * cross + square * norm
        if hi < n - 1:
            line = Phi[t]
            for s in range(n):
                z[s] += x * line[s]
    # To the left: F_t without i is F_t + A[t, i] F_i; its second part only scales `own`, so it is kept as one number.
    for c in range(k):
        u[c] = v[i, c]
        d[c] = f[i, c] + v[i, c] * own[i]
    for s in range(n):
        z[s] = own[s]
    norm = own[i]
    scale = 0.0
    lo = p
    while lo > 0:
        t = order[lo - 1]
        if precedes[t, i]:
            break
        lo -= 1
        x = C[i, t]
        a = back[t]
        inner = z[t] + scale * own[t] + a * (z[i] + scale * own[i])
        norm += x * (x * (Phi[t, t] + a * (2.0 * own[t] + a * own[i])) - 2.0 * inner)
        cross = 0.0
        square = 0.0
        for c in range(k):
            u[c] += x * v[t, c]
            d[c] -= x * (f[t, c] + v[i, c] * own[t] + a * (f[i, c] + v[i, c] * own[i]))
            cross += u[c] * d[c]
            square += u[c] * u[c]
        cost[lo] = base - 2.0 * cross + square * norm
        scale -= x * a
        if lo > 0:
            line = Phi[t]
            for s in range(n):
                z[s] -= x * line[s]
    return lo, hi


@njit(fastmath=True, error_model="numpy")
def move(i, q, error, order, pos, v, f, C, A, Phi, work, d, u):
    """Put task i at position q, update the whole state, give the new error; `work` has 8 rows of n. O(n^2)."""
    n = len(order)
    k = v.shape[1]
    p = pos[i]
    a, g, a2, g2, y, m = work[0], work[1], work[2], work[3], work[4], work[5]
    own, back = Phi[i], A[i]
    oii = own[i]
    for t in range(n):
        before = pos[t] < p
        a[t] = back[t] if before else 0.0
        g[t] = 0.0 if before else back[t]
    for t in range(n):
        m[t] = g[t] - a[t]
        y[t] = own[t]
    for c in range(k):
        u[c] = v[i, c]
        d[c] = f[i, c] + v[i, c] * oii
        error += v[i, c] * (f[i, c] + d[c])
    norm = oii
    scale = 0.0
    if q > p:
        for w in range(p + 1, q + 1):
            t = order[w]
            x = C[i, t]
            norm += x * (2.0 * y[t] + x * Phi[t, t])
            for c in range(k):
                u[c] -= x * (v[t, c] + v[i, c] * back[t])
                d[c] += x * (f[t, c] + v[i, c] * own[t])
            scale += x * back[t]
            left, right = A[t], Phi[t]
            for s in range(n):
                m[s] += x * left[s]
                y[s] += x * right[s]
            m[t] = -x
            order[w - 1] = t
            pos[t] = w - 1
        # A row that starts before the old position and is read behind it gains A[t, i] A[i, s] when i is gone.
        for t in range(n):
            m[t] += scale * a[t]
    else:
        for w in range(p - 1, q - 1, -1):
            t = order[w]
            x = C[i, t]
            b = back[t]
            inner = y[t] + scale * own[t] + b * (y[i] + scale * oii)
            norm += x * (x * (Phi[t, t] + b * (2.0 * own[t] + b * oii)) - 2.0 * inner)
            for c in range(k):
                u[c] += x * v[t, c]
                d[c] -= x * (f[t, c] + v[i, c] * own[t] + b * (f[i, c] + v[i, c] * oii))
            scale -= x * b
            left, right = A[t], Phi[t]
            for s in range(n):
                m[s] -= x * left[s]
                y[s] -= x * right[s]
            m[t] = x
            order[w + 1] = t
            pos[t] = w + 1
        for t in range(n):
            m[t] += scale * g[t]
            y[t] += scale * own[t]
    order[q] = i
    pos[i] = q
    m[i] = 0.0
    for t in range(n):
        before = pos[t] < q
        a2[t] = -m[t] if before else 0.0
        g2[t] = 0.0 if before else m[t]
    _carry(i, norm, v, f, A, Phi, work, d, u)
    for c in range(k):
        error += u[c] * (u[c] * norm - 2.0 * d[c])
    return error


@njit(fastmath=True, error_model="numpy")
def _add(row, x, first, y, second):
    """row += x * first + y * second."""
    for s in range(len(row)):
        row[s] += x * first[s] + y * second[s]


@njit(fastmath=True, error_model="numpy")
def _carry(i, norm, v, f, A, Phi, work, d, u):
    """The updates of rank two behind `move`: F_t + a_t F_i - a2_t y, and the same for A, f and v."""
    n = len(A)
    a, g, a2, g2, y, first, second = work[0], work[1], work[2], work[3], work[4], work[6], work[7]
    oii, inner = Phi[i, i], y[i]
    for c in range(v.shape[1]):
        old, new = v[i, c], u[c]
        rest = f[i, c] + old * oii - new * inner
        end = d[c] - new * norm
        for t in range(n):
            f[t, c] += old * Phi[i, t] - new * y[t] + a[t] * rest - a2[t] * end
            v[t, c] += old * g[t] - new * g2[t]
        f[i, c] = end
        v[i, c] = new
    for t in range(n):
        first[t] = Phi[i, t] + 0.5 * oii * a[t] - inner * a2[t]
        second[t] = y[t] - 0.5 * norm * a2[t]
    for t in range(n):
        at, bt, gt, ht = a[t], a2[t], g[t], g2[t]
        row, line = Phi[t], A[t]
        # Most tasks lie before both positions or behind both: two of the four terms are zero for them.
        if at != 0.0 or bt != 0.0:
            _add(row, at, first, -bt, second)
        _add(row, first[t], a, -second[t], a2)
        if at != 0.0 or bt != 0.0:
            _add(line, at, g, -bt, g2)
        if gt != 0.0 or ht != 0.0:
            _add(line, gt, a, -ht, a2)
    for t in range(n):
        x = y[t] + a[t] * inner - a2[t] * norm
        Phi[i, t] = x
        Phi[t, i] = x
        x = a2[t] + g2[t]
        A[i, t] = x
        A[t, i] = x
    Phi[i, i] = norm
    A[i, i] = 0.0
