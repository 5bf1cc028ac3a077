"""Fine-tune a module of transformers on new examples, and on old ones that a strategy has kept; and its losses.

The loss of a batch is the mean over its examples, of a language model over its tokens, whatever the number of passes
that the batch takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taskorder.arguments import BadArgument
from taskorder.checks import Floats, Ints
from taskorder.learners.huggingface_inputs import Encoded, InputEncoder
from taskorder.learners.huggingface_passes import Passes, room_for
from taskorder.learners.huggingface_recipe import FineTuning
from taskorder.learners.protocol import enough_outputs
from taskorder.learners.strategy import KeptExamples, Old
from taskorder.task import Rows, rows_of
from taskorder.task.joined import joined

try:
    import torch
except ImportError:  # HuggingFaceLearner says so
    torch = None

SEES_AHEAD = 1e-3
"""How much what is said before a token may depend on it, of what is said after it: in fewer bits it is not quite 0."""


class TextBatch(NamedTuple):
    """Examples of one step, as they are kept."""

    values: Any
    """Texts, rows of a table, or images."""
    targets: NDArray[Any]
    own: Sequence[Ints]
    """Of each example, the classes that compete: empty for all."""


@dataclass(frozen=True)
class FineTuner:
    """What turns batches into losses and gradients."""

    encoder: InputEncoder
    recipe: FineTuning
    passes: Passes
    device: Any
    num_classes: int
    """0 for a language model."""
    own_heads: bool
    """Whether only the classes of its own task compete for an example."""

    def train(self, module: Any, new: KeptExamples, old: Old | None, seed: int) -> None:
        """Train the module, whose dropout draws from torch's own random numbers; the order is drawn from the seed."""
        from transformers import get_scheduler

        recipe, count = self.recipe, len(new)
        num_steps = recipe.num_steps(count)
        weights = [weight for weight in module.parameters() if weight.requires_grad]
        self._check_dtypes(weights)
        optimizer = torch.optim.AdamW(self._groups(weights), lr=recipe.learning_rate)
        schedule = get_scheduler(recipe.schedule, optimizer, recipe.warmup_steps(num_steps), num_steps)
        scaler = torch.amp.GradScaler(self.device.type, enabled=recipe.precision == "fp16")
        generator = torch.Generator().manual_seed(seed)
        step = 0
        while step < num_steps:
            for rows in torch.randperm(count, generator=generator).split(recipe.batch_size)[: num_steps - step]:
                batch = self._batch(new, rows.numpy(), old)
                loss = self._gradients(module, batch, optimizer, scaler)
                step += 1
                if not math.isfinite(loss):
                    mixed = "" if recipe.precision == "fp32" else f", or take fp32 in place of {recipe.precision}"
                    raise BadArgument(
                        f"`learner` must have finite losses, got {loss} in step {step} of {num_steps}. "
                        f"Lower learning_rate ({recipe.learning_rate:g}){mixed}."
                    )
                scaler.unscale_(optimizer)
                if recipe.max_grad_norm:
                    torch.nn.utils.clip_grad_norm_(weights, recipe.max_grad_norm)
                with room_for("what AdamW keeps of each weight"):
                    scaler.step(optimizer)
                scale = scaler.get_scale()
                scaler.update()
                if scaler.get_scale() >= scale:  # else the step was left out: too much for fp16
                    schedule.step()
        optimizer.zero_grad()

    def losses_by_class(self, module: Any, values: Any) -> Floats:
        """(n, K) minus the log probabilities."""
        module.eval()
        parts = []
        for some in self._parts(values):
            encoded = self.encoder.classified(some, module.config)

            def work(part: slice, encoded: Encoded = encoded) -> Any:
                with torch.no_grad(), self._mixed():
                    return _logits(module(**self._some(encoded, part)), "classifier").float().cpu()

            parts.append(torch.cat(self.passes.each(len(some), work)))
        outputs = torch.cat(parts)
        enough_outputs(outputs.shape[1], range(self.num_classes))
        return np.asarray(-torch.nn.functional.log_softmax(outputs, 1).numpy(), np.float64)

    def token_losses(self, module: Any, values: Any) -> tuple[Floats, Floats]:
        """(n,) the summed loss of the tokens of each text, and how many they are."""
        module.eval()
        sums, counts = [], []
        for some in self._parts(values):
            encoded = self.encoder.continued(some, module.config)

            def work(part: slice, encoded: Encoded = encoded) -> Any:
                with torch.no_grad(), self._mixed():
                    return self._token_losses(module, encoded, part).sum(1).double().cpu()

            sums += self.passes.each(len(some), work)
            counts.append((encoded["labels"][:, 1:] >= 0).sum(1))
        return torch.cat(sums).numpy(), torch.cat(counts).double().numpy()

    def check_causal(self, module: Any, rows: Rows) -> None:
        """Refuse a language model that sees the tokens that it is to tell: it would soon know every text."""
        encoded = self._some(self.encoder.continued(rows[np.arange(1)], module.config), slice(1))
        del encoded["labels"]
        if "input_ids" not in encoded:  # out of a function of yours
            return
        tokens, mask = encoded["input_ids"], encoded.get("attention_mask")
        last = tokens.shape[1] - 1 if mask is None else int(mask[0].sum()) - 1
        other = tokens.clone()
        other[:, last] = tokens[:, last] == 0
        module.eval()
        with torch.no_grad():
            said = [_logits(module(**encoded | {"input_ids": each}), "language model")[0] for each in (tokens, other)]
        changed = (said[0] - said[1]).float().abs()
        if last > 0 and changed[:last].max() > SEES_AHEAD * changed[last].max():
            raise BadArgument(
                "`model_factory` must make a model that continues texts, got one that sees the next token "
                f"({type(module).__name__}). Take a model like GPT-2 or Llama; classifiers need tasks with labels."
            )

    def _check_dtypes(self, weights: list[Any]) -> None:
        """Refuse weights of 16 bits that cannot be trained so."""
        fits = {torch.float32, torch.float64} | ({torch.bfloat16} if self.recipe.precision != "fp16" else set())
        dtype = next((weight.dtype for weight in weights if weight.dtype not in fits), None)
        if dtype is not None:
            raise BadArgument(
                f"`model_factory` must make a model with weights of 32 bits to train, got {dtype}. "
                "Write from_pretrained(path, dtype=torch.float32)."
            )

    def _groups(self, weights: list[Any]) -> list[dict[str, Any]]:
        """Matrices decay, biases and norms do not."""
        decays = self.recipe.weight_decay, 0.0
        parts = [w for w in weights if w.ndim > 1], [w for w in weights if w.ndim <= 1]
        return [{"params": part, "weight_decay": decay} for part, decay in zip(parts, decays, strict=True) if part]

    def _batch(self, new: KeptExamples, rows: Ints, old: Old | None) -> TextBatch:
        """Some new examples, and with replay old ones."""
        values, targets, own = rows_of(new.inputs)[rows], new.targets[rows], [new.own] * len(rows)
        if old is None:
            return TextBatch(values, targets, own)
        places = old.places(old.replay.extra(len(rows)))
        part_of = np.repeat(np.arange(len(old.parts)), [len(part) for part in old.parts])
        return TextBatch(
            joined([values, rows_of(old.inputs)[places]]),
            np.concatenate([targets, old.targets[places]]),
            own + [old.parts[part].own for part in part_of[places]],
        )

    def _gradients(self, module: Any, batch: TextBatch, optimizer: Any, scaler: Any) -> float:
        """The loss of a batch, with its gradients in the weights."""
        encode = self.encoder.classified if self.num_classes else self.encoder.continued
        encoded = encode(batch.values, module.config)
        whole = len(batch.targets) if self.num_classes else int((encoded["labels"][:, 1:] >= 0).sum())

        def work(part: slice) -> float:
            with self._mixed():
                if self.num_classes:
                    total = self._class_losses(module, encoded, batch, part).sum()
                else:
                    total = self._token_losses(module, encoded, part).sum()
            loss = total / max(whole, 1)
            scaler.scale(loss).backward()
            return float(loss.detach())

        return sum(self.passes.each(len(batch.targets), work, optimizer.zero_grad))

    def _class_losses(self, module: Any, encoded: Encoded, batch: TextBatch, part: slice) -> Any:
        """(n,) cross-entropy of some examples."""
        logits = _logits(module(**self._some(encoded, part)), "classifier").float()
        enough_outputs(logits.shape[1], range(self.num_classes))
        if self.own_heads:
            allowed = torch.zeros(logits.shape, dtype=torch.bool)
            for number, classes in enumerate(batch.own[part]):
                allowed[number, torch.from_numpy(classes)] = True
            logits = logits.masked_fill(~allowed.to(logits.device), -torch.inf)
        targets = torch.from_numpy(np.array(batch.targets[part], np.int64)).to(logits.device)
        return torch.nn.functional.cross_entropy(logits, targets, reduction="none")

    def _token_losses(self, module: Any, encoded: Encoded, part: slice) -> Any:
        """(n, tokens - 1) cross-entropy of each token, given those before it; 0 where none is counted."""
        some = self._some(encoded, part)
        labels = some.pop("labels")[:, 1:]
        logits = _logits(module(**some), "language model").float()[:, :-1]
        losses = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return losses.view(labels.shape)

    def _parts(self, values: Any) -> list[Any]:
        """Rows in parts of the size of a batch, so that short texts are not filled up to the longest of all."""
        rows = rows_of(values)
        size = self.recipe.batch_size
        return [rows[np.arange(start, min(start + size, len(rows)))] for start in range(0, len(rows), size)]

    def _some(self, encoded: Encoded, part: slice) -> Encoded:
        return {name: tensor[part].to(self.device) for name, tensor in encoded.items()}

    def _mixed(self) -> Any:
        kinds = {"bf16": torch.bfloat16, "fp16": torch.float16}
        return torch.autocast(
            self.device.type, dtype=kinds.get(self.recipe.precision), enabled=self.recipe.precision in kinds
        )


def _logits(output: Any, kind: str) -> Any:
    """(n, classes) or (n, tokens, vocabulary) what the module says."""
    logits = getattr(output, "logits", None)
    if logits is None or logits.ndim != (2 if kind == "classifier" else 3):
        got = "no logits" if logits is None else f"logits of shape {tuple(logits.shape)}"
        fix = (
            "Take AutoModelForSequenceClassification or AutoModelForImageClassification; tasks without labels are for "
            "AutoModelForCausalLM."
            if kind == "classifier"
            else "Take AutoModelForCausalLM; classifiers need tasks with labels."
        )
        raise BadArgument(f"`model_factory` must make a {kind} for these tasks, got {got}. {fix}")
    return logits
