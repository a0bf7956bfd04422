"""Small stand-ins made in memory: a pool of skills and a tiny random BERT of the real architecture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from skillfit.io.files import hash_text
from skillfit.types import Skill


class ListPool:
    """A corpus held in a list, with what search and training ask of one."""

    def __init__(self, skills: Sequence[Skill]) -> None:
        self.skills = list(skills)
        self.ids = [skill.skill_id for skill in self.skills]
        texts = ((s.skill_id, s.name, s.description, s.body) for s in self.skills)
        self.content_hash = hash_text(*(part for parts in texts for part in parts))

    def __len__(self) -> int:
        return len(self.skills)

    def __iter__(self) -> Iterator[Skill]:
        return iter(self.skills)

    def __contains__(self, skill_id: object) -> bool:
        return skill_id in self.ids

    def get(self, skill_id: str) -> Skill:
        return self.skills[self.ids.index(skill_id)]

    def copies(self) -> dict[str, frozenset[str]]:
        groups: dict[str, set[str]] = {}
        for skill in self.skills:
            if skill.copy_group:
                groups.setdefault(skill.copy_group, set()).add(skill.skill_id)
        return {skill_id: frozenset(group) for group in groups.values() for skill_id in group}


WORDS = (
    (
        "pdf table extract image resize crop database migrate postgres mysql backup restore log nginx error parse "
        "chart plot matplotlib deploy docker build test pytest rotate secret key email refund translate locale csv "
        "excel clean page cursor token release notes the a to of in and for with my our please when how need fix "
        "from into all new "
    )
    .strip()
    .split(" ")
)


def make_tiny_encoder(folder: Path, *, hidden: int = 32, window: int = 64, seed: int = 0) -> Path:
    """Save a two-layer random BERT with mean pooling as a sentence-transformers folder; its vocabulary is WORDS."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    torch.manual_seed(seed)
    base = folder / "base"
    base.mkdir(parents=True)
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    vocab = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *WORDS,
        *letters,
        *(f"##{c}" for c in letters),
        *"0123456789|.,",
    ]
    (base / "vocab.txt").write_text("\n".join(dict.fromkeys(vocab)), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab=str(base / "vocab.txt"), do_lower_case=True)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=2 * hidden,
        max_position_embeddings=128,
    )
    BertModel(config).save_pretrained(base)
    tokenizer.save_pretrained(base)
    transformer = Transformer(str(base), max_seq_length=window)
    pooling = Pooling(transformer.get_embedding_dimension(), pooling_mode="mean")
    model = SentenceTransformer(modules=[transformer, pooling, Normalize()], device="cpu")
    model.save_pretrained(str(folder / "model"), create_model_card=False)
    return folder / "model"


def make_tiny_decoder(
    folder: Path, *, hidden: int = 32, layers: int = 2, seed: int = 0, dtype: str = "float32", pad: bool = True
) -> Path:
    """Save a random Qwen3 as a plain transformers folder (no modules.json), with a byte-level BPE of WORDS.

    dtype: the type its weights are saved in. pad: whether the tokenizer has a padding token (on the left, as Qwen3's).
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3Model

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|pad|>"] if pad else ["<|endoftext|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([" ".join(WORDS)], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|endoftext|>",
        pad_token="<|pad|>" if pad else None,
        padding_side="left",
        model_max_length=64,
    )
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(fast),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=hidden // 2,
        intermediate_size=2 * hidden,
        max_position_embeddings=128,
        eos_token_id=fast.eos_token_id,
    )
    Qwen3Model(config).to(getattr(torch, dtype)).save_pretrained(folder)
    fast.save_pretrained(folder)
    return folder
