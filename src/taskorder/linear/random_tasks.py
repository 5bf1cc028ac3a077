"""Random linear tasks with prescribed similarities.

Task mu maps a latent s ~ N(0, I) to an input x = A_mu s and a target y = B_mu s. The (i, j) elements of A_1..A_P are
jointly N(0, C / N_s), those of B_1..B_P jointly N(0, Co / N_s), independent over (i, j).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, output_similarity, positive_count, positive_semidefinite, seed_number
from taskorder.theory.closed_form import output_factor, unit_diagonal_similarity

MAX_SIZE = 10**15
"""Beyond this many inputs floats cannot tell the difference."""
MAX_OUTPUTS = 10**6
"""Most num_latent x num_outputs: the targets of a task take 8 MB."""


@dataclass(frozen=True)
class Sizes:
    """Sizes of the linear teacher-student model; the defaults are the paper's.

    Examples
    --------
    >>> from taskorder import Sizes
    >>> Sizes(num_inputs=1000).load
    0.03
    """

    num_latent: int = 30
    """N_s, latent factors."""
    num_inputs: int = 3000
    """N_x, inputs of the student."""
    num_outputs: int = 10
    """N_y, outputs of the student."""

    def __post_init__(self) -> None:
        for name in ("num_latent", "num_inputs", "num_outputs"):
            size = positive_count(getattr(self, name), name)
            if size > MAX_SIZE:
                raise BadArgument(f"`{name}` must be at most {MAX_SIZE:,}, got {size:,}.")
            object.__setattr__(self, name, size)  # a number of numpy would not go into JSON
        if self.num_latent > MAX_OUTPUTS:
            raise BadArgument(f"`num_latent` must be at most {MAX_OUTPUTS:,}, got {self.num_latent:,}.")
        if self.num_latent * self.num_outputs > MAX_OUTPUTS:
            raise BadArgument(
                f"`num_outputs` must be at most {MAX_OUTPUTS // self.num_latent:,} with {self.num_latent} latent "
                f"factors, got {self.num_outputs:,}."
            )

    @property
    def load(self) -> float:
        """N_s / N_x: the theory is the limit of 0 with P far below 1 / load."""
        return self.num_latent / self.num_inputs


@dataclass(frozen=True, eq=False)
class LinearTasks:
    """The mixing matrices of P tasks."""

    A: Floats
    """(P, N, N_s); N is N_x, or fewer after a change of input axes that leaves no task outside (see sample_tasks)."""
    B: Floats
    """(P, N_y, N_s)."""

    def gram(self) -> Floats:
        """(P, N_s, P, N_s) blocks A_mu^T A_nu: with B they decide every error of every order."""
        P, N, N_s = self.A.shape
        flat = self.A.transpose(1, 0, 2).reshape(N, P * N_s)
        return np.asarray(flat.T @ flat).reshape(P, N_s, P, N_s)


def sample_tasks(
    similarity: ArrayLike,
    output: ArrayLike | None = None,
    sizes: Sizes = Sizes(),  # noqa: B008 (frozen)
    *,
    seed: int = 0,
    small: bool = False,
) -> LinearTasks:
    """P random tasks with input similarity C = `similarity` and output similarity Co = `output` (None: all ones).

    small: draw the same errors in fewer dimensions. With Z the (N_x, rank(C) N_s) independent normals behind all A and
    Z = Q T^T its QR decomposition, an input axis outside Q is never touched, so the tasks may as well live in the
    rank(C) N_s axes of Q. T is drawn directly: normals below a diagonal of chi variables (Bartlett), so Q and Z are
    never formed and N_x costs nothing.

    >>> tasks = sample_tasks([[1, 0.5], [0.5, 1]], sizes=Sizes(2, 50, 1))
    >>> tasks.A.shape, tasks.B.shape
    ((2, 50, 2), (2, 1, 2))
    >>> sample_tasks([[1, 0.5], [0.5, 1]], sizes=Sizes(2, 50, 1), small=True).A.shape
    (2, 4, 2)
    """
    C = unit_diagonal_similarity(similarity)
    positive_semidefinite(C)
    inputs = output_factor(C, len(C))
    outputs = output_factor(output_similarity(output, len(C)), len(C))
    rng = np.random.default_rng(seed_number(seed))
    rank, N_s = len(inputs), sizes.num_latent
    if small and sizes.num_inputs >= rank * N_s:
        Z = _bartlett(rank * N_s, sizes.num_inputs, rng).T
    else:
        Z = rng.standard_normal((sizes.num_inputs, rank * N_s))
    Y = rng.standard_normal((len(outputs), sizes.num_outputs, N_s))
    scale = 1 / np.sqrt(N_s)
    A = np.tensordot(inputs * scale, Z.reshape(len(Z), rank, N_s), (0, 1))
    B = np.tensordot(outputs * scale, Y, (0, 0))
    return LinearTasks(A, B)


def _bartlett(size: int, degrees: int, rng: np.random.Generator) -> Floats:
    """(size, size) lower triangular T with T T^T ~ Wishart(degrees, I)."""
    T = np.zeros((size, size))
    T[np.tril_indices(size, -1)] = rng.standard_normal(size * (size - 1) // 2)
    np.fill_diagonal(T, np.sqrt(rng.chisquare(degrees - np.arange(size))))
    return T
