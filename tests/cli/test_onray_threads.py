"""Threads of others that fail while a cluster is left."""

import threading

from taskorder.cli.onray import _no_word_of_closed_channels


def test_only_closed_channels_go_unsaid(monkeypatch):
    said = []
    monkeypatch.setattr(threading, "excepthook", lambda failure: said.append(str(failure.exc_value)))
    _no_word_of_closed_channels()
    for text in ("Cannot monitor channel state: Channel closed!", "another problem"):

        def fail(text=text):
            raise ValueError(text)

        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
    assert said == ["another problem"]
