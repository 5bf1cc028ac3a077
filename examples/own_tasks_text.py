"""Plan the order of text tasks with overlapping labels, and check the plan by training for real.

    python examples/own_tasks_text.py

The texts are real and on every machine: docstrings of Python's standard library, by topic. Each task asks which of two
topics a text is about, and some tasks have a topic in common. Labels are the names of the topics: "files" of one task
is "files" of another, and each topic has an output. The learner is a Pipeline that reads the texts as they are.
"""

import importlib
import inspect
import warnings

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline

from taskorder import Task, run_pilot
from taskorder.learners import SklearnLearner, learn_orders

TOPICS = {
    "math": "math cmath statistics fractions decimal random numbers operator heapq bisect",
    "code": "ast dis inspect tokenize types importlib.abc importlib.util symtable traceback pickletools",
    "text": "string textwrap re difflib codecs csv configparser json argparse gettext",
    "files": "os os.path pathlib shutil tempfile zipfile tarfile glob fileinput gzip io",
    "network": "http.client http.server urllib.request socket socketserver ssl ftplib smtplib imaplib poplib",
    "mail": "email.message email.header email.utils email.policy email.generator email.parser mailbox mimetypes",
}
PAIRS = (("math", "network"), ("math", "files"), ("code", "files"), ("text", "mail"), ("text", "network"))
NUM_RANDOM = 4


def docstrings(module_name: str) -> set[str]:
    """The docstrings of a module's functions, classes and methods, at least four words long."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some names in the library are deprecated
        module = importlib.import_module(module_name)
        members = [member for name, member in inspect.getmembers(module) if not name.startswith("_")]
        for member in [member for member in members if inspect.isclass(member)]:
            members += [inner for name, inner in inspect.getmembers(member) if not name.startswith("_")]
    texts = {inspect.getdoc(member) for member in members if inspect.isroutine(member) or inspect.isclass(member)}
    return {" ".join(text.split()) for text in texts if text and len(text.split()) >= 4}


def read_tasks() -> list[Task]:
    """Lists of texts with the names of their topics; a quarter is held out to test on."""
    found = {topic: set().union(*map(docstrings, modules.split())) for topic, modules in TOPICS.items()}
    texts = {topic: sorted(own - set().union(*(other for t, other in found.items() if t != topic)))
             for topic, own in found.items()}  # fmt: skip
    tasks = []
    for pair in PAIRS:
        labeled = [(text, topic) for topic in pair for text in texts[topic]]
        mixed = [labeled[row] for row in np.random.default_rng(0).permutation(len(labeled))]
        inputs, labels = (list(column) for column in zip(*mixed, strict=True))
        num_test = len(mixed) // 4
        tasks.append(
            Task(" or ".join(pair), inputs[num_test:], labels[num_test:], inputs[:num_test], labels[:num_test])
        )
    return tasks


def main() -> None:
    """Print the similarity that a pilot shows, the plan, and the accuracy that orders really reach."""
    tasks = read_tasks()
    print("texts: " + ", ".join(f"{task.name} {len(task.labels)}" for task in tasks))
    words = HashingVectorizer(n_features=2**12, stop_words="english")
    learner = SklearnLearner(make_pipeline(words, SGDClassifier(loss="log_loss", alpha=1e-3)), epochs=3)

    # a pilot on 60 texts a task, measured on these texts alone: the test texts play no part in the choice
    found = run_pilot(tasks, learner, pilot=60)
    plan = found.plan
    print("similarity on 60 texts a task")
    for name, row in zip(plan.names, found.transfer.similarity(), strict=True):
        print(f"  {name:20}" + "".join(f"{value:7.2f}" for value in row))
    print("plan: " + " -> ".join(plan.named_order))
    if plan.confidence is not None:
        print(plan.confidence.summary())

    # what the orders really reach, on all texts to train on
    rng = np.random.default_rng(0)
    orders = [plan.order, plan.order[::-1], *(tuple(rng.permutation(len(tasks)).tolist()) for _ in range(NUM_RANDOM))]
    scores = learn_orders(learner, tasks, orders, seeds=(10,))
    reached = [np.mean([[score.accuracy for score in seed[order]] for seed in scores]) for order in orders]
    planned, opposite, by_chance = reached[0], reached[1], np.mean(reached[2:])
    print("accuracy over all tasks after the last one:")
    print(f"  planned order {planned:.3f}, opposite {opposite:.3f}, {NUM_RANDOM} random orders {by_chance:.3f}")


if __name__ == "__main__":
    main()
