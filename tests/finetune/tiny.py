"""A model of a few hundred parameters and data sets whose rows say which task they are of."""

from pathlib import Path
from typing import Any

TASKS = ("ants", "bees", "cats")
ROWS = 8
MARKS = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")


def save_tiny_model(folder: Path) -> Any:
    """Write a Llama with a tokenizer of whole words to a folder; returns the tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = ["<pad>", "<s>", "</s>", "<unk>", *MARKS, *TASKS, *map(str, range(ROWS)), "ask", "say"]
    raw = Tokenizer(models.WordLevel({word: k for k, word in enumerate(words)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    config = LlamaConfig(
        vocab_size=len(words), hidden_size=8, intermediate_size=8, num_hidden_layers=1, num_attention_heads=1,
        max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return tokenizer


def alpaca_rows(task: str) -> list[dict[str, str]]:
    """Rows with an instruction and an output."""
    return [{"instruction": f"ask {task} {k}", "input": "", "output": f"say {task} {k}"} for k in range(ROWS)]


def tasks_of(tokenizer: Any, rows: Any) -> list[str]:
    """The task of each row of token ids; those of several tasks have a + between them."""
    return ["+".join(dict.fromkeys(w for w in tokenizer.decode(row).split() if w in TASKS)) for row in rows]


def in_blocks(order: Any) -> list[str]:
    """The tasks of all rows where none is mixed with another."""
    return [task for task in order for _ in range(ROWS)]
