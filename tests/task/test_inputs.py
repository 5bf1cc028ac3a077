"""A task of whatever a person has: taken by index, never made dense, never read before it is needed."""

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

from taskorder import Task, align, pilot_sample, share_labels
from taskorder.task import number_array

WORDS = ["where", "late", "thanks", "refund"]
TEXTS = [f"{WORDS[k % 4]} number {k}" for k in range(40)]
LABELS = ["order", "praise"] * 20
X = np.random.default_rng(0).normal(size=(40, 3))


def pandas_frame():
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"age": X[:, 0], "city": [t[:5] for t in TEXTS], "topic": LABELS}, index=np.arange(40) + 7)


def polars_frame():
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"age": X[:, 0], "city": [t[:5] for t in TEXTS], "topic": LABELS})


def hugging_face():
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict({"text": TEXTS, "topic": LABELS})


def torch_pairs():
    torch = pytest.importorskip("torch")
    return torch.utils.data.TensorDataset(torch.tensor(X), torch.tensor([0, 1] * 20))


KINDS = {
    "array": lambda: (X, LABELS),
    "list of numbers": lambda: (X.tolist(), LABELS),
    "tensor": lambda: (pytest.importorskip("torch").tensor(X), pytest.importorskip("torch").tensor([0, 1] * 20)),
    "list of tensors": lambda: (list(pytest.importorskip("torch").tensor(X)), LABELS),
    "list of texts": lambda: (TEXTS, LABELS),
    "array of texts": lambda: (np.array(TEXTS), np.array(LABELS)),
    "dictionaries": lambda: ([{"word": text} for text in TEXTS], LABELS),
    "sparse": lambda: (scipy.sparse.csc_matrix(X), LABELS),
    "sparse array": lambda: (scipy.sparse.coo_array(X), LABELS),
    "pandas series": lambda: (pandas_frame()["city"], pandas_frame()["topic"].astype("category")),
    "pandas": lambda: (pandas_frame(), "topic"),
    "polars series": lambda: (polars_frame()["city"], polars_frame()["topic"]),
    "polars": lambda: (polars_frame(), "topic"),
    "Hugging Face": lambda: (hugging_face(), "topic"),
    "Hugging Face column": lambda: (hugging_face()["text"], hugging_face()["topic"]),
    "torch": lambda: (torch_pairs(), None),
    "loader": lambda: (pytest.importorskip("torch").utils.data.DataLoader(torch_pairs(), shuffle=True), None),
    "function": lambda: (lambda rows: X[rows], LABELS),
    "function of texts": lambda: (lambda rows: [TEXTS[row] for row in rows], LABELS),
}


def shown(rows):
    """Every row as text, whatever holds them."""
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    if hasattr(rows, "columns"):
        rows = rows.to_numpy()
    return [str(row) for row in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_sampled_and_goes_through_everything_that_tasks_go_through(kind):
    inputs, labels = KINDS[kind]()
    task, other = (Task(name, inputs, labels) for name in "ab")
    assert len(task.rows) == len(task.targets) == 40
    assert len(set(task.classes)) == 2
    assert task.digest == Task("a", *KINDS[kind]()).digest != other.digest
    sample = pilot_sample([task, other], 10)[0]
    assert len(sample.rows) == len(sample.targets) == 10
    assert np.bincount(sample.targets).tolist() == [5, 5]
    assert pilot_sample([task], 10)[0].digest == sample.digest != pilot_sample([task], 10, seed=1)[0].digest
    shared = share_labels([task, other])
    assert shared[0].classes == (0, 1)
    assert replace(task, name="c").digest != task.digest
    assert task.shuffled(0).measured[1].tolist() != task.targets.tolist()
    assert shown(task.rows[np.array([7, 3])]) == [shown(task.rows[np.array([row])])[0] for row in (7, 3)]
    held = Task("a", inputs, labels, inputs, None if labels is None or isinstance(labels, str) else labels)
    assert held.eval_targets.tolist() == task.targets.tolist()


@pytest.mark.parametrize("kind", ["list of texts", "pandas series", "pandas", "polars series", "polars", "sparse"])
def test_what_is_in_memory_stays_of_its_kind(kind):
    inputs, labels = KINDS[kind]()
    task = Task("a", inputs, labels)
    sample = pilot_sample([task], 6)[0]
    if kind == "sparse":
        assert sample.inputs.format == "csr"
        np.testing.assert_allclose(number_array(sample.inputs).shape, (6, 3))
    else:
        assert type(sample.inputs) is type(inputs)
    if kind in ("pandas", "polars"):
        assert list(sample.inputs.columns) == ["age", "city"]
        assert list(inputs.columns) == ["age", "city", "topic"]


def test_a_single_column_of_texts_is_left_as_a_list_of_texts():
    frame = pandas_frame()[["city", "topic"]]
    assert Task("a", frame, "topic").inputs.tolist() == frame["city"].tolist()
    assert Task("a", polars_frame()[["city", "topic"]], "topic").inputs.to_list() == frame["city"].tolist()
    assert Task("a", frame[["city"]], frame["topic"]).inputs.shape == (40, 1)
    assert pilot_sample([Task("a", hugging_face(), "topic")], 4)[0].inputs[0] in TEXTS
    numbers = pandas_frame()[["age", "topic"]]
    assert list(Task("a", numbers, "topic").inputs.columns) == ["age"]


class Spied:
    """Rows that remember which of them were read."""

    def __init__(self, pairs=True):
        self.read, self.pairs = [], pairs

    def __len__(self):
        return len(X)

    def __getitem__(self, row):
        self.read.append(row)
        return (X[row], row % 2) if self.pairs else X[row]


def test_a_pilot_reads_its_own_rows_once_and_no_others():
    data = Spied(pairs=False)
    task = Task("a", data, [0, 1] * 20)
    assert len(data.read) <= 1  # the first row tells the shape
    data.read.clear()
    sample = pilot_sample([task], 6)[0]
    assert len(data.read) == len(set(data.read)) <= 7
    read = list(data.read)
    assert sample.digest
    sample.shuffled(1)
    assert data.read == read
    assert {tuple(row) for row in sample.inputs} <= {tuple(X[row]) for row in read}


def test_labels_that_a_data_set_knows_are_not_read_from_its_items():
    torch = pytest.importorskip("torch")

    class Images(Spied, torch.utils.data.Dataset):
        classes = ("cat", "dog")
        targets = torch.tensor([0, 1] * 20)
        target_transform = None

    data = Images()
    task = Task("pets", data)
    assert task.classes == ("cat", "dog")
    assert len(data.read) <= 1
    part = torch.utils.data.ConcatDataset(
        [torch.utils.data.Subset(data, [1, 3, 4, 5]), torch.utils.data.Subset(data, range(10))]
    )
    assert Task("pets", part).labels.tolist() == ["dog", "dog", "cat", "dog", *["cat", "dog"] * 5]
    data.target_transform = lambda target: "odd" if target else "even"
    assert Task("pets", data).classes == ("even", "odd")
    data.read.clear()
    assert Task("pairs", Spied()).targets.tolist() == [0, 1] * 20


def test_a_loader_is_its_data_set_with_its_way_to_put_items_together():
    torch = pytest.importorskip("torch")
    DataLoader = torch.utils.data.DataLoader

    def doubled(items):
        return 2 * torch.stack([x for x, _ in items]), torch.tensor([y for _, y in items])

    task = Task("a", DataLoader(torch_pairs(), batch_size=7, collate_fn=doubled))
    np.testing.assert_allclose(task.rows[np.array([3, 1])], 2 * X[[3, 1]])
    part = DataLoader(torch_pairs(), sampler=torch.utils.data.SubsetRandomSampler([5, 2, 9]))
    assert Task("a", part).targets.tolist() == [0, 1, 1]
    weighted = DataLoader(torch_pairs(), sampler=torch.utils.data.WeightedRandomSampler([1.0] * 40, 40))
    with pytest.raises(
        ValueError, match=r"must be a DataLoader of all rows, got one with a WeightedRandomSampler. Give"
    ):
        Task("a", weighted)


def test_names_of_classes_of_hugging_face_are_labels():
    datasets = pytest.importorskip("datasets")
    made = {}
    for name, order in (("a", ["billing", "fraud"]), ("b", ["fraud", "billing"])):
        features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=order)})
        made[name] = datasets.Dataset.from_dict({"text": TEXTS, "label": [0, 1] * 20}, features=features)
    a, b = align([Task(name, data, "label") for name, data in made.items()])
    assert a.classes == ("billing", "fraud")
    assert (a.targets == 1 - b.targets).all()
    with pytest.raises(
        ValueError, match=r"`labels` of task 'a' must name the column of the labels, got none. Write labels='label'"
    ):
        Task("a", made["a"])


def test_items_that_are_dictionaries():
    torch = pytest.importorskip("torch")

    class Records(torch.utils.data.Dataset):
        def __len__(self):
            return 6

        def __getitem__(self, row):
            return {"pixels": torch.full((3, 2, 2), float(row)), "label": row % 2}

    task = Task("a", Records(), "label")
    assert task.rows[np.array([4, 2])].shape == (2, 3, 2, 2)
    assert task.targets.tolist() == [0, 1, 0, 1, 0, 1]
    with pytest.raises(ValueError, match="must have items with an entry 'name', the labels"):
        Task("a", Records(), "name")


def test_images_are_bytes_with_their_channels_last():
    image = pytest.importorskip("PIL.Image")
    images = [image.fromarray(np.full((4, 5, 3), k, np.uint8)) for k in range(6)]
    assert Task("a", images, [0, 1] * 3).inputs.shape == (6, 4, 5, 3)
    assert Task("a", images, [0, 1] * 3).inputs.dtype == np.uint8
    for other in (images[0].resize((7, 4)), images[0].convert("L")):
        with pytest.raises(ValueError, match=r"must be images of one mode and size, got RGB \(5, 4\) and") as no:
            Task("a", [*images, other], [0] * 4 + [1] * 3)
        assert f"{other.mode} {other.size}" in str(no.value)


def test_a_large_sparse_matrix_is_never_made_dense(monkeypatch):
    pytest.importorskip("sklearn")
    from sklearn.linear_model import SGDClassifier

    from taskorder import plan
    from taskorder.learners import SklearnLearner

    rng, made_dense = np.random.default_rng(0), []
    places = np.arange(10_000), rng.integers(100_000, size=10_000)
    large = scipy.sparse.csr_matrix((rng.normal(size=10_000), places), shape=(10_000, 100_000))
    for cls in (scipy.sparse.csr_matrix, scipy.sparse.csr_array):
        for name in ("toarray", "todense"):
            monkeypatch.setattr(cls, name, lambda self, *_: made_dense.append(self.shape), raising=False)
    tasks = [Task(name, large, np.arange(10_000) % (2 + k)) for k, name in enumerate("ab")]
    assert tasks[0].inputs.data is large.data  # neither is it copied
    assert tasks[0].digest
    chosen = plan(tasks, SklearnLearner(SGDClassifier(loss="log_loss"), epochs=1), pilot=60, seeds=1, draws=0)
    assert sorted(chosen.order) == [0, 1]
    assert made_dense == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((TEXTS, LABELS[:30]), "`inputs` of task 'mail' must have one row for each label, got 40 rows, 30 labels."),
        ((["a", None, "b"], [0, 1, 0]), "`inputs` of task 'mail' must all be texts, got None in row 2. Fill or drop"),
        ((["a", "b"], ["x", None]), "`labels` of task 'mail' must not be missing, got None. Drop examples without"),
        (([], "topic"), "must have at least one example, got none. Leave an empty task out."),
        ((scipy.sparse.csr_matrix([[0.0], [np.nan]]), [0, 1]), "must be finite, got nan in row 2"),
        ((scipy.sparse.coo_array(np.arange(3.0)), [0, 1, 1]), "got a sparse array of shape (3,)"),
        ((lambda rows: rows, None), "`labels` of task 'mail' must be given with a function that gives rows"),
        ((lambda rows: X[rows], iter([])), "`inputs` of task 'mail' must have at least one example, got none."),
        ((lambda rows: X[:2], LABELS), "must give one row for each number, got 2 for 1"),
        (({"age": [1, 2]}, [0, 1]), "ragged rows, text or dict. Write pandas.DataFrame(...)."),
        (((x for x in X), LABELS), "text or generator. Put the rows into a list."),
        ((TEXTS, LABELS, X, LABELS), "`eval_inputs` of task 'mail' must be like its inputs (texts), got 3 float"),
        ((TEXTS, LABELS, TEXTS, None), "`eval_inputs` and `eval_labels` of task 'mail' must be given together"),
    ],
)
def test_bad_inputs_are_named_with_the_fix(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Task("mail", *arguments)


def test_bad_tables_are_named_with_the_fix():
    frame = pandas_frame()
    missing = frame.assign(topic=[None, *LABELS[1:]])
    for arguments, message in (
        ((frame, "subject"), "`labels` of task 'a' must name a column, got 'subject'. Columns: age, city, topic."),
        ((missing, "topic"), "`labels` of task 'a' must not be missing, got"),
        ((frame.assign(topic=None), "topic"), "`labels` of task 'a' must not be missing, got None"),
        ((frame, ["topic"]), "`labels` of task 'a' must name a column, got a list. Write labels='topic'."),
        ((frame, frame[["topic"]]), "must list one label for each example, got a table. Write frame['topic']."),
        ((frame[["age", "age", "topic"]], "topic"), "must have columns of different names, got 'age' more than once."),
        ((frame[["age", "topic", "topic"]], "topic"), "must have columns of different names, got 'topic' more than"),
        ((frame[["topic"]], "topic"), "`inputs` of task 'a' must have columns to learn from, got only the labels"),
        (
            (frame["age"], frame["topic"]),
            "must have one row for each example, got a series of numbers. Write .to_frame()",
        ),
        ((frame.iloc[:0], "topic"), "`inputs` of task 'a' must have at least one example, got none."),
        (
            (frame, "topic", frame.drop(columns="city")),
            "must be like its inputs (a column 'city'), got a table without it",
        ),
        ((polars_frame().lazy(), "topic"), "must be in memory, got a LazyFrame of polars. Write frame.collect()."),
        ((hugging_face(), "subject"), "must name a column, got 'subject'. Columns: text, topic."),
        (
            (hugging_face().to_iterable_dataset(), "topic"),
            "must have a length and rows by number, got IterableDataset.",
        ),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            Task("a", *arguments)
    renamed = frame.rename(columns={"age": "years"})
    with pytest.raises(ValueError, match=r"got a column 'age' for 'a' and a table without it for 'b'. Bring them to"):
        align([Task("a", frame, "topic"), Task("b", renamed, "topic")])


def test_a_stream_without_a_length_is_refused():
    torch = pytest.importorskip("torch")

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(zip(X, [0, 1] * 20, strict=True))

    for stream in (Stream(), torch.utils.data.DataLoader(Stream())):
        with pytest.raises(ValueError, match=r"must have a length and rows by number, got Stream without one of them."):
            Task("a", stream)
