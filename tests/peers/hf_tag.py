"""Fine-tune a BERT folder to tag words with transformers and PyTorch.

The same data, split and budget as `keras-encoder tag`: a head on the frozen
encoder (whose outputs are computed once), then everything; first sub-words
carry the labels; the epoch with the best validation score is tested. Prints
JSON lines.

    PYTHONPATH=. python tests/peers/hf_tag.py --data wikigold.conll.txt
    PYTHONPATH=. python tests/peers/hf_tag.py --train dev.conllu \\
        --test test.conllu
"""

import argparse
import copy
import functools
import json
import random
import time

import torch
from seqeval.metrics import f1_score
from seqeval.scheme import IOB2
from transformers import AutoModelForTokenClassification, AutoTokenizer

from keras_encoder.checkpoints.locate import find_folder
from pipelines.data.tagged.sources import load_tagged_splits
from pipelines.options import TagOptions
from pipelines.tagging.schemes import INNER, PLAIN, convert, detect_scheme

UNCOUNTED = -100


def main():
    args = parse_arguments()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    splits, scheme = read(args)
    labels = sorted({tag for _, tags in splits["train"] for tag in tags})
    folder = find_folder(args.encoder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(
        folder, num_labels=len(labels)
    )
    run = Run(args, model, tokenizer, labels, scheme)
    start = time.perf_counter()
    for stage in ("adapt", "finetune"):
        run.train(stage, splits["train"], splits["validation"])
    model.load_state_dict(run.best_state)
    result = {"train_seconds": round(time.perf_counter() - start, 1)}
    for part in ("validation", "test"):
        result[part] = round(run.score(splits[part]), 4)
    tell(seed=args.seed, metric=run.metric, **result)


def parse_arguments():
    defaults = TagOptions()
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("data", "train", "validation", "test"):
        parser.add_argument(f"--{name}")
    for name in (
        "encoder",
        "max_length",
        "batch_size",
        "adapt_epochs",
        "adapt_learning_rate",
        "adapt_patience",
        "finetune_epochs",
        "finetune_learning_rate",
        "warmup",
        "weight_decay",
        "clip_norm",
        "seed",
    ):
        default = getattr(defaults, name)
        parser.add_argument(
            "--" + name.replace("_", "-"), type=type(default), default=default
        )
    return parser.parse_args()


def read(args):
    """(words, tags) pairs by split, in IOB2 or plain; and which of them."""
    splits = load_tagged_splits(
        args.data, args.train, args.validation, args.test, seed=args.seed
    )
    parts = {
        name: getattr(splits, name) for name in ("train", "validation", "test")
    }
    scheme = detect_scheme(e.tags for part in parts.values() for e in part)
    inner = PLAIN if scheme == PLAIN else INNER
    return {
        name: [
            (list(e.tokens), list(convert(e.tags, scheme, inner))) for e in part
        ]
        for name, part in parts.items()
    }, scheme


class Run:
    """A model in training, and its best state so far."""

    def __init__(self, args, model, tokenizer, labels, scheme):
        self.args = args
        self.model = model
        self.tokenizer = tokenizer
        self.labels = labels
        self.metric = "accuracy" if scheme == PLAIN else "strict_f1"
        self.best = -1.0
        self.best_state = None

    def train(self, stage, train, validation):
        args, model = self.args, self.model
        epochs = getattr(args, f"{stage}_epochs")
        patience = args.adapt_patience if stage == "adapt" else epochs
        if self.best_state is not None:
            model.load_state_dict(self.best_state)
        for name, parameter in model.named_parameters():
            parameter.requires_grad = stage == "finetune" or name.startswith(
                "classifier"
            )
        steps = epochs * -(-len(train) // args.batch_size)
        optimizer, schedule = self.make_optimizer(stage, steps)
        forward = self.loss
        if stage == "adapt":
            forward = functools.partial(self.frozen_loss, self.states(train))
        since_best = 0
        for epoch in range(epochs):
            start = time.perf_counter()
            model.train()
            for chosen in self.batches(train, shuffle=True):
                forward([train[i] for i in chosen], chosen).backward()
                torch.nn.utils.clip_grad_norm_(
                    model.parameters(), args.clip_norm
                )
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            score = self.score(validation)
            tell(
                stage=stage,
                epoch=epoch + 1,
                validation=round(score, 4),
                seconds=round(time.perf_counter() - start, 1),
            )
            since_best += 1
            if score > self.best:
                self.best, since_best = score, 0
                self.best_state = copy.deepcopy(model.state_dict())
            if since_best >= patience:
                break

    def loss(self, sentences, chosen):
        inputs, targets = self.encode(sentences)
        return self.model(**inputs, labels=targets).loss

    def frozen_loss(self, states, sentences, chosen):
        _, targets = self.encode(sentences)
        logits = self.model.classifier(
            self.model.dropout(
                torch.nn.utils.rnn.pad_sequence(
                    [states[i] for i in chosen], batch_first=True
                )
            )
        )
        return torch.nn.functional.cross_entropy(
            logits.transpose(1, 2), targets, ignore_index=UNCOUNTED
        )

    def states(self, sentences):
        """The frozen encoder's states of each sentence, without padding."""
        self.model.eval()
        states = [None] * len(sentences)
        with torch.no_grad():
            for chosen in self.batches(sentences, shuffle=False):
                inputs, _ = self.encode([sentences[i] for i in chosen])
                found = self.model.bert(**inputs).last_hidden_state
                lengths = inputs["attention_mask"].sum(1)
                for i, state, length in zip(
                    chosen, found, lengths, strict=True
                ):
                    states[i] = state[:length].clone()
        return states

    def make_optimizer(self, stage, steps):
        groups = {True: [], False: []}
        for name, parameter in self.model.named_parameters():
            if parameter.requires_grad:
                groups["bias" in name or "LayerNorm" in name].append(parameter)
        optimizer = torch.optim.AdamW(
            [
                {
                    "params": groups[False],
                    "weight_decay": self.args.weight_decay,
                },
                {"params": groups[True], "weight_decay": 0.0},
            ],
            lr=getattr(self.args, f"{stage}_learning_rate"),
        )
        warmup = self.args.warmup if stage == "finetune" else 0.0
        warm = max(1, int(warmup * steps))

        def factor(step):
            return min((step + 1) / warm, (steps - step) / max(1, steps - warm))

        return optimizer, torch.optim.lr_scheduler.LambdaLR(optimizer, factor)

    def batches(self, sentences, shuffle):
        """Numbers of the sentences of each batch, of similar length."""
        size = self.args.batch_size
        order = list(range(len(sentences)))
        group = len(order)
        if shuffle:
            random.shuffle(order)
            group = 50 * size
        made = []
        for start in range(0, len(order), group):
            some = order[start : start + group]
            some.sort(key=lambda i: -len(sentences[i][0]))
            made += [some[i : i + size] for i in range(0, len(some), size)]
        if shuffle:
            random.shuffle(made)
        return made

    def encode(self, sentences):
        """Inputs, and targets on the first sub-word of each word."""
        inputs = self.tokenizer(
            [words for words, _ in sentences],
            is_split_into_words=True,
            truncation=True,
            max_length=self.args.max_length,
            padding=True,
            return_tensors="pt",
        )
        targets = torch.full(inputs["input_ids"].shape, UNCOUNTED)
        for row, (_, tags) in enumerate(sentences):
            for place, word in first_places(inputs, row):
                if tags[word] in self.labels:
                    targets[row, place] = self.labels.index(tags[word])
        return inputs, targets

    def score(self, sentences):
        """Of every word: those that were cut off count as the first label."""
        self.model.eval()
        fallback = "O" if "O" in self.labels else self.labels[0]
        predicted = [[fallback] * len(words) for words, _ in sentences]
        with torch.inference_mode():
            for chosen in self.batches(sentences, shuffle=False):
                inputs, _ = self.encode([sentences[i] for i in chosen])
                best = self.model(**inputs).logits.argmax(-1)
                for row, i in enumerate(chosen):
                    for place, word in first_places(inputs, row):
                        predicted[i][word] = self.labels[best[row, place]]
        gold = [tags for _, tags in sentences]
        if self.metric == "strict_f1":
            return f1_score(
                gold, predicted, mode="strict", scheme=IOB2, zero_division=0
            )
        pairs = [
            true == guess
            for some, others in zip(gold, predicted, strict=True)
            for true, guess in zip(some, others, strict=True)
        ]
        return sum(pairs) / len(pairs)


def first_places(inputs, row):
    """(position, word) of the first piece of each word of a row."""
    seen = None
    for place, word in enumerate(inputs.word_ids(row)):
        if word is not None and word != seen:
            yield place, word
            seen = word


def tell(**values):
    print(json.dumps({"peer": "transformers", **values}), flush=True)


if __name__ == "__main__":
    main()
