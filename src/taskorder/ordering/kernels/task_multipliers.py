"""A tighter lower bound with one multiplier for each task: compiled kernels, arrays in and out.

Of two tasks only the later one sees the other, v_i (r_i - v_i) = sum over j before i of C_ij v_i v_j, so for any
multipliers lam_i every completion obeys

    error = e - 2 h.v + v G v + sum_i lam_i (v_i - r_i) v_i + sum_{i<j} lam_(the later of i, j) C_ij v_i v_j.

Where the sign of C_ij v_i v_j is known, the smaller or the larger of lam_i and lam_j is the worst case; where not,
|v_i v_j| <= (v_i^2 y_j / y_i + v_j^2 y_i / y_j) / 2 for any positive y. Either way a quadratic form below the error is
left. Equal multipliers give the bound of bound.py. A sign is known when every v with an error below the goal has it:
v_i lies within sqrt((goal - bound) (K^-1)_ii) of x_i. This pays where coupling is weak: at P = 16, factor .1 k=4P, it
divides the nodes by 5 to 70.
"""

# mypy: disable-error-code="untyped-decorator, no-untyped-def"

import numpy as np

from taskorder.ordering.kernels.bound import NEVER, least_value, price_children
from taskorder.ordering.kernels.jit import njit

COST = 2.0
"""What tightening costs for each open task, in nodes."""
LEAST, FEW, SEEN = 5, 8, 32
"""Fewer open tasks are cheaper to list; up to `FEW` have little below them, unless so many nodes have been seen."""
STEPS = 6
"""Steps of ascent at a node; three times as many where the parent has none to start from."""


@njit(error_model="numpy")
def read_signs(m, x, inverse, gap, sign, y):
    """sign[i] <- the sign of v_i in every completion within `gap` of the bound, where it is 0 so far and can be told;
    y[i] <- about |v_i|. True when a sign is new. inverse: the diagonal of K^-1."""
    news, size = False, 0.0
    for j in range(m):
        size += x[j] * x[j]
    for j in range(m):
        width = gap * inverse[j] * (1 + 1e-6) + 1e-10 * size  # the rest is for rounding
        if sign[j] == 0.0 and x[j] * x[j] > width:
            sign[j] = 1.0 if x[j] > 0.0 else -1.0
            news = True
        y[j] = np.sqrt(x[j] * x[j] + 0.3 * width) + 1e-100
    return news


@njit(error_model="numpy")
def _form(C, G, m, lam, sign, y, K):
    """K <- the matrix of the quadratic form."""
    for i in range(m):
        K[i, i] = G[i, i] + lam[i]
    for i in range(m):
        for j in range(i):
            c = C[i, j]
            known = sign[i] * sign[j] * c
            if known > 0.0:
                K[j, i] = G[i, j] + 0.5 * c * min(lam[i], lam[j])
            elif known < 0.0:
                K[j, i] = G[i, j] + 0.5 * c * max(lam[i], lam[j])
            else:
                K[j, i] = G[i, j] + 0.25 * c * (lam[i] + lam[j])
                loss = 0.25 * abs(c * (lam[i] - lam[j]))
                K[i, i] -= loss * y[j] / y[i]
                K[j, j] -= loss * y[i] / y[j]
            K[i, j] = K[j, i]


@njit(error_model="numpy")
def _ascent(r, C, m, lam, sign, y, x, g):
    """g <- a supergradient of the bound; returns its squared length."""
    for i in range(m):
        g[i] = x[i] * (x[i] - r[i])
    for i in range(m):
        for j in range(i):
            w = C[i, j] * x[i] * x[j]
            known = sign[i] * sign[j] * C[i, j]
            ahead = lam[i] - lam[j]
            if known == 0.0:
                g[i] += 0.5 * w
                g[j] += 0.5 * w
                if ahead != 0.0:
                    loss = 0.25 * abs(C[i, j]) * (x[i] * x[i] * y[j] / y[i] + x[j] * x[j] * y[i] / y[j])
                    loss = loss if ahead > 0.0 else -loss
                    g[i] -= loss
                    g[j] += loss
            elif ahead == 0.0:
                g[i] += 0.5 * w
                g[j] += 0.5 * w
            elif (ahead < 0.0) == (known > 0.0):
                g[i] += w
            else:
                g[j] += w
    length = 0.0
    for i in range(m):
        length += g[i] * g[i]
    return length


@njit(error_model="numpy")
def _value(r, h, G, m, lam, K, X, x):
    """-b K^-1 b with b = h + lam r / 2, and x = K^-1 b; minus NEVER when K is not safely positive definite."""
    size = 0.0
    for i in range(m):
        K[i, m] = h[i] + 0.5 * lam[i] * r[i]
    value = least_value(K, m, X, x)
    for j in range(m):
        size += x[j] * x[j] * (abs(G[j, j]) + abs(lam[j]))
    return value - 1e-15 * m * m * size if value > -NEVER else value


@njit(error_model="numpy")
def _climb(r, h, C, G, m, common, lam, sign, y, steps, patience, need, K, X, x, g, best_lam):
    """-b K^-1 b after at most `steps` steps of ascent on lam, which is overwritten; X and x belong to the result.

    common: a multiplier that is feasible when all tasks share it. need: the value that is enough.
    """
    value = -NEVER
    for retreat in range(6):
        if retreat > 0:
            for i in range(m):
                lam[i] = common if retreat == 5 else 0.5 * (lam[i] + common)
        _form(C, G, m, lam, sign, y, K)
        value = _value(r, h, G, m, lam, K, X, x)
        if value > -NEVER:
            break
    best, ease, latest, idle = value, 1.0, True, 0
    for i in range(m):
        best_lam[i] = lam[i]
    while steps > 0 and -NEVER < best < need:
        length = _ascent(r, C, m, lam, sign, y, x, g)
        if not length > 0.0:
            break
        stride = ease * (need - value) / length  # Polyak's: where the tangent reaches what is needed
        value = -NEVER
        while steps > 0 and value == -NEVER:
            for i in range(m):
                lam[i] += stride * g[i]
            _form(C, G, m, lam, sign, y, K)
            value = _value(r, h, G, m, lam, K, X, x)
            if value == -NEVER:
                for i in range(m):
                    lam[i] -= stride * g[i]
                stride *= 0.4
            steps -= 1
        latest = value > best
        if latest:
            idle = idle + 1 if value - best < 0.05 * (need - best) else 0
            best = value
            for i in range(m):
                best_lam[i] = lam[i]
        else:
            ease *= 0.85
            idle += 1
        if idle >= patience:
            break
    if not latest:
        for i in range(m):
            lam[i] = best_lam[i]
        _form(C, G, m, lam, sign, y, K)
        best = _value(r, h, G, m, lam, K, X, x)
    return best


@njit()
def survivors(m, front, back, cut):
    """Children below `cut` at the end that has fewer."""
    few, many = 0, 0
    for j in range(m):
        few += front[j] < cut
        many += back[j] < cut
    return min(few, many)


@njit(error_model="numpy")
def tighten(e, r, h, C, G, m, bound, goal, common, lam, begun, sign, front, back, X, x, inverse, K, work, tally):
    """Raise the bound of a node and the prices of its children, given those for the multiplier `common`; returns it.

    lam, sign: (m,) multipliers (if `begun`) and known signs, as the parent left them; overwritten. What is known holds
    for completions with an error below `goal`, and so does the result: none is below both. x, inverse: x and
    the diagonal of K^-1 for `common`.
    tally: (3,) counts of attempts, and of children that survived before and after them.
    """
    y, g, best_lam, first, last = work[3], work[4], work[5], work[6], work[7]
    steps, patience = (STEPS, 4) if begun else (3 * STEPS, 3 * STEPS)
    if not begun:
        for i in range(m):
            lam[i] = common
    tally[0] += 1
    tally[1] += survivors(m, front, back, goal - bound)
    read_signs(m, x, inverse, goal - bound, sign, y)
    for _ in range(2):  # a better bound may tell more signs, and those give a better bound
        value = e + _climb(r, h, C, G, m, common, lam, sign, y, steps, patience, goal - e, K, X, x, g, best_lam)
        if value <= bound:
            break
        for j in range(m):
            first[j], last[j] = 0.0, 0.0
        price_children(r, C, m, X, x, first, last, goal - value, work)
        for j in range(m):
            front[j] = max(front[j] + bound, first[j] + value) - value
            back[j] = max(back[j] + bound, last[j] + value) - value
        bound = value
        for j in range(m):
            inverse[j] = 0.0
        for i in range(m):
            for j in range(i + 1):
                inverse[j] += X[i, j] * X[i, j]
        if bound >= goal or not read_signs(m, x, inverse, goal - bound, sign, y):
            break
    if bound < goal:
        tally[2] += survivors(m, front, back, goal - bound)
    return bound


@njit()
def pays(m, tally):
    """Whether to tighten at a node of m open tasks: where the nodes below the children that it removed so far would
    have cost more, else now and then. tally: (n + 1, 4) by open tasks; attempts, children before, after, nodes."""
    if m < LEAST or (m <= FEW and tally[m, 3] < SEEN):
        return False
    if tally[m, 0] < 8 + tally[m, 3] // 256:
        return True
    below = 0
    for i in range(m):
        below += tally[i, 3]
    return (tally[m, 1] - tally[m, 2]) * below > COST * m * tally[m, 0] * tally[m - 1, 3]
