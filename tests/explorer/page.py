"""What people do on the page and read from it, for the tests in a browser."""

import numpy as np
import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

THREE = "task,a,b,c\na,1,0.6,0.3\nb,0.6,1,0.1\nc,0.3,0.1,1\n"


def order(page):
    """The tasks as they stand in the list, by index."""
    return page.locator("#tasks > li").evaluate_all("(rows) => rows.map((row) => Number(row.dataset.task))")


def expect_order(page, tasks):
    for _ in range(100):
        if order(page) == list(tasks):
            break
        page.wait_for_timeout(50)
    assert order(page) == list(tasks)


def face(page, task):
    return page.locator(f"li[data-task='{task}'] .face")


def enter(page, field, text):
    """Type into a field of the task that is open."""
    page.fill(f"[data-field={field}]", text)
    page.keyboard.press("Enter")


def drag(page, task, onto, *, steps=8):
    start, end = face(page, task).bounding_box(), face(page, onto).bounding_box()
    page.mouse.move(start["x"] + 90, start["y"] + start["height"] / 2)
    page.mouse.down()
    page.mouse.move(end["x"] + 90, end["y"] + end["height"] / 2, steps=steps)


def shown(value):
    """The number as the page writes it."""
    return f"{float(f'{value:.4g}'):g}"


def big(size):
    factors = np.random.default_rng(0).normal(size=(size, size // 3)) + 0.4
    factors /= np.linalg.norm(factors, axis=1, keepdims=True)
    matrix = np.clip(factors @ factors.T, -1, 1)
    np.fill_diagonal(matrix, 1.0)
    return (matrix + matrix.T) / 2


def upload(page, matrix):
    text = "\n".join(",".join(map(repr, row)) for row in np.round(matrix, 6).tolist())
    page.set_input_files("input[type=file]", {"name": "big.csv", "mimeType": "text/csv", "buffer": text.encode()})
    expect(page.locator("#tasks > li")).to_have_count(len(matrix))
