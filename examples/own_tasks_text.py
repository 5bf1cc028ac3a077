"""Plan the order of text tasks: sentence embeddings and a small head, a stand-in for fine-tuning a language model.

    python examples/own_tasks_text.py

The texts are real and on every machine: docstrings of Python's standard library, by topic. Their embeddings are word
counts (TF-IDF) reduced to 64 numbers. Each task asks which of two topics a text is about; some tasks have a topic in
common. To plan for your own language model, put its embeddings, and the head that you train, in place of these.
"""

import importlib
import inspect
import warnings

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neural_network import MLPClassifier

from taskorder import solve
from taskorder.learners import SklearnLearner, learn_orders
from taskorder.planning.estimate import measure_transfer
from taskorder.planning.pilot import pilot_sample
from taskorder.tables.loss_ratios import clip_similarity
from taskorder.task import Task

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
    """Pairs of topics; the first of a pair is 0 and the second 1, so that all tasks share two outputs."""
    found = {topic: set().union(*map(docstrings, modules.split())) for topic, modules in TOPICS.items()}
    texts = {topic: sorted(own - set().union(*(other for t, other in found.items() if t != topic)))
             for topic, own in found.items()}  # fmt: skip
    everything = [text for own in texts.values() for text in own]
    counts = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit(everything)
    reduced = TruncatedSVD(64, random_state=0).fit(counts.transform(everything))
    vectors = {topic: 5 * reduced.transform(counts.transform(own)) for topic, own in texts.items()}
    tasks = []
    for first, second in PAIRS:
        inputs = np.concatenate([vectors[first], vectors[second]])
        labels = np.repeat([0, 1], [len(vectors[first]), len(vectors[second])])
        rows = np.random.default_rng(0).permutation(len(labels))
        test, train = rows[: len(rows) // 4], rows[len(rows) // 4 :]
        tasks.append(Task(f"{first} or {second}", inputs[train], labels[train], inputs[test], labels[test]))
    return tasks


def main() -> None:
    """Print the similarity that a pilot shows, the plan, and the accuracy that orders really reach."""
    tasks = read_tasks()
    print("texts: " + ", ".join(f"{task.name} {len(task.labels)}" for task in tasks))
    learner = SklearnLearner(MLPClassifier((16,), batch_size=8, learning_rate_init=0.01), epochs=4)

    # a pilot on 60 texts a task, measured on these texts alone: the test texts play no part in the choice
    table = measure_transfer(pilot_sample(tasks, 60, keep_eval=False), learner, seeds=3)
    similarity, _ = clip_similarity(table.similarity())
    print(f"similarity from {table.fits} fits on 60 texts a task")
    for name, row in zip(table.names, similarity, strict=True):
        print(f"  {name:20}" + "".join(f"{value:7.2f}" for value in row))
    plan = solve(similarity, names=table.names)
    print("plan: " + " -> ".join(plan.named_order))

    # what the orders really reach, on all texts to train on
    rng = np.random.default_rng(0)
    worst = solve(similarity, "worst").order
    orders = [plan.order, worst, *(tuple(rng.permutation(len(tasks)).tolist()) for _ in range(NUM_RANDOM))]
    found = learn_orders(learner, tasks, orders, seeds=(10,))
    reached = [np.mean([[one.accuracy for one in seed[order]] for seed in found]) for order in orders]
    planned, opposite, by_chance = reached[0], reached[1], np.mean(reached[2:])
    print("accuracy over all tasks after the last one:")
    print(f"  planned order {planned:.3f}, opposite {opposite:.3f}, {NUM_RANDOM} random orders {by_chance:.3f}")


if __name__ == "__main__":
    main()
