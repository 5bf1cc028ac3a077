"""Every order of a first set S and of the rest T, as vectors whose products are errors: compiled kernels.

With A = r^T r and N = r^T h after the tasks of S, and Z = (I + U)^-1 on T (U: the similarities above the diagonal, in
order), the final error is linear in what the prefix did and linear in what the ending does:

    error = e - 2 <N, Z> + <A, Y> = c_p + x_p.y_s,    Y = Z G Z^T

c_p and x_p = (N, A) belong to one order p of S, y_s = (-2 Z, Y) to one order s of T; Z_jj = 1 goes into c_p.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.jit import njit

ONE = np.uint64(1)
WIDTH = 8
"""Most tasks in one half: rows of T x T matrices are padded to it."""


@njit(error_model="numpy", fastmath=True)
def prefixes(e0, A0, N0, C, G, before, S, T, const, x, orders):
    """c_p, x_p and the order itself for every allowed order of S, len(S) >= 2; returns their number.

    x_p holds, for each task of T, its row of N and then its row of A: side by side, so that one loop serves both.
    """
    a, b = len(S), len(T)
    width = x.shape[1] // b  # 2 WIDTH; as a constant, it would have short loops unrolled instead of vectorized
    e, turn, path = np.zeros(a), np.zeros(a, np.int64), np.zeros(a, np.int64)
    AS, NS = np.zeros((a, a, a)), np.zeros((a, a, a))  # A and N: rows and columns of S
    NA = np.zeros((a, a + b, width))  # N and A: rows of S, then of T; columns of T
    GC = np.zeros((a, width))
    left = np.zeros((a, a), np.int64)
    row1 = np.zeros(width)
    e[0] = e0
    free = np.uint64(0)
    for i in range(a + b):
        s = S[i] if i < a else T[i - a]
        for o in range(b):
            NA[0, i, o], NA[0, i, WIDTH + o] = N0[s, T[o]], A0[s, T[o]]
        if i < a:
            left[0, i] = i
            free |= ONE << np.uint64(s)
            for o in range(a):
                AS[0, i, o], NS[0, i, o] = A0[s, S[o]], N0[s, S[o]]
            for o in range(b):
                GC[i, o], GC[i, WIDTH + o] = G[s, T[o]], C[s, T[o]]
    depth, row = 0, 0
    while True:
        m, d = a - depth, depth + 1
        slot = turn[depth]
        if slot == m:
            if depth == 0:
                return row
            depth -= 1
            free |= ONE << np.uint64(S[path[depth]])
            continue
        turn[depth] = slot + 1
        k = left[depth, slot]
        if before[S[k]] & free:
            continue
        own = AS[depth, k, k]
        value = e[depth] - 2.0 * NS[depth, k, k] + own * G[S[k], S[k]]
        path[depth] = k
        if m > 2:
            e[d] = value
            count = 0
            for p in range(m + b):
                i = left[depth, p] if p < m else a + p - m
                if i == k:
                    continue
                if p < m:
                    left[d, count] = i
                    count += 1
                    c = C[S[k], S[i]]
                    rest = AS[depth, k, i] - own * c
                    for q in range(m):
                        o = left[depth, q]
                        AS[d, i, o] = AS[depth, i, o] - rest * C[S[k], S[o]] - c * AS[depth, k, o]
                        NS[d, i, o] = NS[depth, i, o] - rest * G[S[k], S[o]] - c * NS[depth, k, o]
                else:
                    c = GC[k, WIDTH + i - a]
                    rest = NA[depth, k, WIDTH + i - a] - own * c
                for o in range(width):
                    NA[d, i, o] = NA[depth, i, o] - rest * GC[k, o] - c * NA[depth, k, o]
            free ^= ONE << np.uint64(S[k])
            depth = d
            turn[depth] = 0
            continue
        # Two tasks are left, k and f: both at once, with only the row of f in between.
        f = left[depth, 1 - slot]
        path[d] = f
        c = C[S[k], S[f]]
        rest = AS[depth, k, f] - own * c
        own1 = AS[depth, f, f] - c * (rest + AS[depth, k, f])
        value += own1 * G[S[f], S[f]] - 2.0 * (NS[depth, f, f] - rest * G[S[k], S[f]] - c * NS[depth, k, f])
        for o in range(width):
            row1[o] = NA[depth, f, o] - rest * GC[k, o] - c * NA[depth, k, o]
        for i in range(b):
            u, v = GC[k, WIDTH + i], GC[f, WIDTH + i]
            p, q = NA[depth, k, WIDTH + i] - own * u, row1[WIDTH + i] - own1 * v
            at = i * width
            for o in range(width):
                x[row, at + o] = NA[depth, a + i, o] - p * GC[k, o] - u * NA[depth, k, o] - q * GC[f, o] - v * row1[o]
            value -= 2.0 * x[row, at + i]
        const[row] = value
        for i in range(a):
            orders[row, i] = S[path[i]]
        row += 1


@njit(error_model="numpy", fastmath=True)
def endings(C0, G0, after, T, y, orders):
    """y_s and the order itself for every allowed order of T, from its last task on; returns their number.

    Off the diagonal Y counts twice: only its lower triangle is written.
    """
    b = len(T)
    width = y.shape[1] // b + WIDTH
    C, G = np.zeros((b, b)), np.zeros((b, b))
    rows, new = np.zeros((b, width)), np.zeros(width)  # Y, Z and Z G of what is placed, by position
    turn, path = np.zeros(b, np.int64), np.zeros(b, np.int64)
    used = np.zeros(b, np.bool_)
    free = np.uint64(0)
    for i in range(b):
        free |= ONE << np.uint64(T[i])
        for o in range(b):
            C[i, o], G[i, o] = C0[T[i], T[o]], G0[T[i], T[o]]
    depth, row = 0, 0
    while True:
        k = turn[depth]
        if k == b:
            if depth == 0:
                return row
            depth -= 1
            used[path[depth]] = False
            free |= ONE << np.uint64(T[path[depth]])
            continue
        turn[depth] = k + 1
        if used[k] or after[T[k]] & free:
            continue
        path[depth] = k
        own, pull = G[k, k], 2 * WIDTH + k
        for o in range(b):
            new[o] = rows[o, pull] if o < depth else 0.0
            new[WIDTH + o] = 0.0
            new[2 * WIDTH + o] = G[k, o]
        new[WIDTH + k] = 1.0
        for p in range(depth):
            c = C[k, path[p]]
            own -= c * rows[p, pull]
            for o in range(width):
                new[o] -= c * rows[p, o]
        for p in range(depth):
            own -= C[k, path[p]] * new[p]
            rows[p, depth] = new[p]
        for o in range(depth + 1, b):  # what a longer order left here
            new[o] = 0.0
        new[depth] = own
        for o in range(width):
            rows[depth, o] = new[o]
        if depth < b - 1:
            used[k] = True
            free ^= ONE << np.uint64(T[k])
            depth += 1
            turn[depth] = 0
            continue
        for p in range(b):
            i = path[p]
            at = 2 * i * WIDTH
            for o in range(b):
                y[row, at + o] = -2.0 * rows[p, WIDTH + o]
            for q in range(p):
                o = path[q]
                y[row, (2 * max(i, o) + 1) * WIDTH + min(i, o)] = 2.0 * rows[p, q]
            y[row, at + WIDTH + i] = rows[p, p]
            orders[row, b - 1 - p] = T[i]
        row += 1
