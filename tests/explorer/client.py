"""Plain requests to the explorer, requests to send it, and its answers."""

import http.client
import json
from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from taskorder.explorer import security
from taskorder.explorer.server import ADDRESS


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str

    def json(self):
        return json.loads(self.text)


class Client:
    """Plain requests over a real socket, which lets headers and paths be as odd as an attacker's."""

    def __init__(self, port, token):
        self.port, self.token = port, token

    def send(self, method, path, *, content=None, json=None, headers=None):
        body = content if json is None else globals()["json"].dumps(json).encode()
        sent = {"host": f"{ADDRESS}:{self.port}", security.TOKEN_HEADER: self.token, **(headers or {})}
        connection = http.client.HTTPConnection(ADDRESS, self.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for name, value in {**sent, "content-length": str(len(body or b""))}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def get(self, path, **more):
        return self.send("GET", path, **more)

    def post(self, path, **more):
        return self.send("POST", path, **more)


def solve_body(similarity, **more):
    return {"similarity": np.asarray(similarity).tolist(), "names": list("ABCDEFGHIJ"[: len(similarity)]), **more}


def events(answer):
    return [json.loads(line) for line in answer.text.splitlines()]
