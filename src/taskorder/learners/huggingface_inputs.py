"""From rows of tasks to what a model of transformers takes: tokens of texts, pixels of images.

Texts are whole rows, or columns of a table: two columns make a pair for a classifier; for a language model all but the
last are a prompt, of which no loss is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from taskorder.arguments import BadArgument, did_you_mean
from taskorder.task.labels import lacks_value
from taskorder.task.rows import listed

try:
    import torch
except ImportError:  # HuggingFaceLearner says so
    torch = None

NO_LOSS = -100
"""The label of a token that no loss is counted of, as in all of transformers."""
NO_LIMIT = 10**9
"""Tokenizers without a limit say that it is more than this."""
SHOWN_TEXT = 30

Encoded = dict[str, Any]
"""Tensors with one row an example."""


class InputEncoder:
    """A tokenizer or an image processor, and how rows come to it."""

    def __init__(self, processor: Any, column: str | Sequence[str] | None, max_length: int | None) -> None:
        self.processor, self.max_length = processor, max_length
        self.columns = () if column is None else (column,) if isinstance(column, str) else tuple(column)

    def classified(self, values: Any, config: Any) -> Encoded:
        """What a classifier takes."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            return self._images(values, config)
        texts, tokenizer = self._texts(values), self._tokenizer
        if len(values) > 1:
            _check_padding(tokenizer, config)
        parts = [list(part) for part in zip(*texts, strict=True)]
        if not hasattr(tokenizer, "pad"):  # a function of yours
            return dict(tokenizer(*parts))
        more = {"truncation": True, "max_length": self.max_length} if self.max_length else {}
        encoded = dict(tokenizer(*parts, padding=len(values) > 1, return_tensors="pt", **more))
        if "attention_mask" in encoded:
            self._check_lengths(encoded["attention_mask"].sum(1).tolist(), texts, config)
        _check_tokens(encoded.get("input_ids"), config)
        return encoded

    def continued(self, values: Any, config: Any) -> Encoded:
        """What a language model takes, and as labels the tokens whose loss counts."""
        texts, tokenizer = self._texts(values), self._tokenizer
        if not hasattr(tokenizer, "pad"):  # a function of yours
            return dict(tokenizer(*(list(part) for part in zip(*texts, strict=True))))
        rows, prompts = [], []
        for text in texts:
            start: list[int] = []
            for part in text[:-1]:
                start += self._tokens(part, begins=not start)
            rest = self._tokens(text[-1], begins=not start)
            rows.append((start + rest)[: self.max_length])
            prompts.append(len(start))
        self._check_lengths(list(map(len, rows)), texts, config)
        width = max(2, *map(len, rows))
        pad = next((token for token in (getattr(tokenizer, "pad_token_id", None),
                                        getattr(tokenizer, "eos_token_id", None)) if token is not None), 0)  # fmt: skip
        tokens = torch.full((len(rows), width), pad, dtype=torch.int64)
        mask = torch.zeros_like(tokens)
        labels = torch.full_like(tokens, NO_LOSS)
        for number, (row, prompt) in enumerate(zip(rows, prompts, strict=True)):
            tokens[number, : len(row)] = torch.tensor(row, dtype=torch.int64)
            mask[number, : len(row)] = 1
            labels[number, prompt : len(row)] = tokens[number, prompt : len(row)]
        labels[:, 0] = NO_LOSS  # nothing comes before it that could tell it
        _check_tokens(tokens, config)
        return {"input_ids": tokens, "attention_mask": mask, "labels": labels}

    def _tokens(self, text: str, *, begins: bool) -> list[int]:
        """Those of a text; with what marks a beginning where it is one, once an example."""
        tokens: list[int] = self._tokenizer(text, add_special_tokens=begins, verbose=False)["input_ids"]
        return tokens

    @property
    def _tokenizer(self) -> Any:
        """That of a processor of texts and images, too."""
        if self._reads_images:
            raise BadArgument(
                f"`processor` must be a tokenizer for texts, got {type(self.processor).__name__}. "
                "Write AutoTokenizer.from_pretrained(path)."
            )
        return self.processor.tokenizer if _takes_images(self.processor) else self.processor

    @property
    def _reads_images(self) -> bool:
        """Whether images are all that the processor reads."""
        return _takes_images(self.processor) and not hasattr(self.processor, "tokenizer")

    def _texts(self, values: Any) -> list[tuple[str, ...]]:
        """The text of each row, or the texts of its columns."""
        if hasattr(values, "columns"):
            known, rows = list(values.columns), None
            if self._reads_images:
                raise BadArgument(
                    f"`tasks` must have images in the only column beside the labels, got the columns {listed(known)}. "
                    'Write data.select_columns(["image", "label"]).'
                )
        elif isinstance(values, list) and values and isinstance(values[0], dict):
            known, rows = list(values[0]), values
        elif isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            raise BadArgument("`tasks` must have texts for a language model, got numbers. Give it texts, not tokens.")
        else:
            return [(str(text),) for text in values]
        if not self.columns:
            raise BadArgument(
                f"`column` must name the column of the texts, got none. Write HuggingFaceLearner(..., column=...). "
                f"Columns: {listed(known)}."
            )
        missing = next((name for name in self.columns if name not in known), None)
        if missing is not None:
            raise BadArgument(
                f"`column` must name a column of the tasks, got {missing!r}.{did_you_mean(missing, map(str, known))} "
                f"Columns: {listed(known)}."
            )
        parts = [[row.get(name, "") for row in rows] if rows else list(values[name]) for name in self.columns]
        for name, part in zip(self.columns, parts, strict=True):
            lacking = [value for value in part if lacks_value(value)]
            if lacking:  # it would be the text "None", or "nan"
                raise BadArgument(
                    f"`tasks` must have a text in every row of the column {name!r}, got {lacking[0]!r}. "
                    "Fill or drop missing texts first."
                )
        return [tuple(map(str, texts)) for texts in zip(*parts, strict=True)]

    def _images(self, values: Any, config: Any) -> Encoded:
        """Pixels; gray images have three equal channels where the model wants three."""
        processor = getattr(self.processor, "image_processor", self.processor)
        if values.ndim < 3:
            raise BadArgument(
                f"`tasks` must have texts or images for this learner, got rows of shape {values.shape[1:]}. "
                "Take SklearnLearner or TorchLearner for numbers."
            )
        if values.ndim == 3:
            values = values[..., None]
        if values.shape[-1] == 1 and getattr(config, "num_channels", 3) == 3:
            values = values.repeat(3, axis=-1)
        if not hasattr(processor, "model_input_names"):  # a function of yours
            return dict(processor(values))
        more = {} if values.dtype == np.uint8 else {"do_rescale": False}
        return dict(processor(images=list(values), return_tensors="pt", **more))

    def _check_lengths(self, lengths: list[int], texts: list[tuple[str, ...]], config: Any) -> None:
        """Refuse what the model has no positions for."""
        limit = most_tokens(self._tokenizer, config)
        longest = max(lengths)
        if longest > limit:
            text = " ".join(" ".join(texts[lengths.index(longest)]).split())
            raise BadArgument(
                f"`max_length` must be at most {limit} for this model, got texts of up to {longest} tokens, like "
                f"{text[:SHOWN_TEXT]!r}. Cut them: HuggingFaceLearner(..., max_length={limit})."
            )


def _takes_images(processor: Any) -> bool:
    return "pixel_values" in getattr(processor, "model_input_names", ())


def most_tokens(tokenizer: Any, config: Any) -> int:
    """How many tokens a text may have: what has no limit says nothing, or a number that is none."""
    given = getattr(tokenizer, "model_max_length", None), getattr(config, "max_position_embeddings", None)
    return min([NO_LIMIT, *(int(limit) for limit in given if limit and limit > 0)])


def _check_tokens(tokens: Any, config: Any) -> None:
    """Refuse tokens that the model has no weights for, which end in an error of an index, on a GPU in many lines."""
    known = getattr(config, "vocab_size", None)
    if known and tokens is not None and tokens.max() >= known:
        raise BadArgument(
            f"`processor` must have the tokens that the model knows, 0 to {known - 1}, got {int(tokens.max())}. Load "
            "both from one path, or let model_factory call model.resize_token_embeddings(len(tokenizer))."
        )


def _check_padding(tokenizer: Any, config: Any) -> None:
    """Refuse a tokenizer or a model that cannot fill up short texts."""
    if getattr(tokenizer, "pad_token", "") is None:
        raise BadArgument(
            "`processor` must have a pad token, got a tokenizer without one. "
            "Write tokenizer.pad_token = tokenizer.eos_token."
        )
    if getattr(config, "pad_token_id", 0) is None:
        raise BadArgument(
            "`model_factory` must make a model with a pad token, got pad_token_id None. "
            "Write from_pretrained(path, num_labels=..., pad_token_id=tokenizer.pad_token_id)."
        )
