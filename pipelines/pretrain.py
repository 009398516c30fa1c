"""Train an encoder to guess masked words, on texts without labels.

    keras-encoder pretrain                        # BBC News, bert-tiny
    keras-encoder pretrain --data mine.txt --vocabulary-size 8000
    keras-encoder pretrain --data mine.txt --encoder minilm-l6

The last goes on from a checkpoint: the encoder learns the language of a
field before it is fine-tuned. Leaves a model folder that `classify` and `tag`
take as --encoder, that `predict` fills masks with, and that transformers
opens.
"""

import time
from collections.abc import Sequence

import keras
import numpy as np

from keras_encoder.checkpoints.load import KERAS_HUB
from keras_encoder.checkpoints.load_heads import restore_head
from keras_encoder.heads import MaskedLM, Pretraining
from keras_encoder.layers.positions import POSITIONS
from keras_encoder.losses import SmoothCrossentropy
from keras_encoder.optimization import make_optimizer
from keras_encoder.presets import PRESETS
from pipelines.classification.texts import check_segments
from pipelines.console import say
from pipelines.data.documents import Lines, load_documents
from pipelines.errors import InputError, RunFailed
from pipelines.model_folder import FineTuned
from pipelines.options import PretrainOptions
from pipelines.outputs import choose_output
from pipelines.pretraining.batches import MaskedBatches
from pipelines.pretraining.epochs import PretrainEpochs, weighted_metrics
from pipelines.pretraining.masking import Masking
from pipelines.pretraining.rows import sentence_pairs, single_texts
from pipelines.pretraining.sentence_rows import tokenise_documents
from pipelines.pretraining.vocabulary import train_vocabulary
from pipelines.training.best_state import BestState
from pipelines.training.callbacks import log_callbacks
from pipelines.training.freezing import count_parameters
from pipelines.training.recipe import finish, load_start
from pipelines.training.updates import in_updates, reduction

RATE_FROM_RANDOM, RATE_FROM_CHECKPOINT = 1e-3, 5e-5
# [CLS], [SEP] of a pair, [SEP], and two tokens of each text.
_ROOM_FOR_PAIR = 7


def pretrain(
    options: PretrainOptions,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> tuple[FineTuned, dict]:
    """Runs the recipe.

    Args:
        options: see `PretrainOptions`.
        callbacks: more Keras callbacks.

    Returns:
        The trained model and the content of `metrics.json`; both stand in
        the folder that `options.output` names, too.

    Raises:
        InputError: if an option or the data are wrong; before training.
        RunFailed: if no epoch gave a finite loss.
    """
    started = time.perf_counter()
    output = choose_output(options.output, options.overwrite, "pretrain")
    _check(options)
    train, held_out, note = load_documents(
        options.data, options.validation, options.text, options.seed
    )
    say(f"Data: {len(train)} training documents", *(f"  {n}" for n in note))
    callbacks = (*callbacks, *log_callbacks(options))
    tokenizer = _train_vocabulary(options, train)
    chosen = {"positions": options.positions} if options.positions else {}
    start = load_start(options, tokenizer, **chosen)
    model = make_model(options, start)
    batches, watched, entropy = _make_batches(
        options, start.tokenizer, train, held_out
    )
    rate = _rate(options, start.is_random)
    record, best = _train(model, batches, watched, options, rate, callbacks)
    found = {
        "precision": start.precision,
        "load_seconds": start.load_seconds,
        "rows": {
            "train": len(batches.rows.inputs),
            "validation": len(watched.rows.inputs),
        },
        "vocabulary_size": start.tokenizer.vocabulary_size,
        "unigram_entropy": entropy,
        "mask_token": _score_hidden(model, watched, entropy),
        "validation": record["validation"],
    }
    settings = {"task": "pretrain", "max_length": options.max_length}
    trained = FineTuned(model, start.tokenizer, (), settings)
    metrics = finish(output, trained, options, [record], best, found, started)
    return trained, metrics


def _check(options):
    is_size = options.encoder in PRESETS
    if not is_size and options.vocabulary_size is not None:
        raise InputError(
            f"--vocabulary-size: {options.encoder} has a vocabulary, which its "
            "embeddings belong to; only a size such as bert-tiny takes a new "
            "one."
        )
    if options.positions is not None:
        if options.positions not in POSITIONS:
            raise InputError(
                f"--positions: expected {', '.join(POSITIONS)}; found "
                f"{options.positions!r}."
            )
        if not is_size:
            raise InputError(
                f"--positions: {options.encoder} was trained with its own; "
                "only a size such as bert-tiny takes others."
            )
    if options.cased and options.vocabulary_size is None:
        raise InputError("--cased: only together with --vocabulary-size.")
    if options.next_sentence and options.max_length < _ROOM_FOR_PAIR:
        raise InputError(
            f"--max-length {options.max_length}: has no room for two texts; "
            f"expected {_ROOM_FOR_PAIR} or more."
        )


def _train_vocabulary(options, documents):
    """A tokenizer, or None where the options ask for none."""
    if options.vocabulary_size is None:
        return None
    tokenizer = train_vocabulary(
        Lines(documents), options.vocabulary_size, lowercase=not options.cased
    )
    say(f"Vocabulary: {tokenizer.vocabulary_size} tokens, from these texts")
    return tokenizer


def make_model(options, start):
    """The model on its encoder, with what the checkpoint has of its head.

    Args:
        options: see `PretrainOptions`.
        start: from `load_start`.
    """
    if options.next_sentence:
        check_segments(start.encoder)
        model = Pretraining(start.encoder)
    else:
        model = MaskedLM(start.encoder)
    loaded = ()
    if not start.is_random and not options.encoder.startswith(KERAS_HUB):
        loaded = restore_head(model, options.encoder)
    random = [name for name in model.tensors() if name not in loaded]
    if not start.is_random:
        say(
            f"Head: {len(loaded)} tensors matched, {len(random)} with random "
            "weights"
        )
    return model


def _make_batches(options, tokenizer, train, held_out):
    """Batches to train on, held-out batches, and the unigram entropy."""
    length = options.max_length
    masking = Masking.of(tokenizer, options.whole_word)
    make_rows, longest = single_texts, length - 2
    if options.next_sentence:
        make_rows, longest = sentence_pairs, (length - 3) // 2
    made, entropy = [], None
    for name, documents in (("--data", train), ("held-out texts", held_out)):
        sentences = tokenise_documents(tokenizer, documents, longest)
        counts = sentences.counts(tokenizer.vocabulary_size)
        if not counts[masking.ordinary_ids].any():
            raise InputError(f"{name}: expected words to mask, found none.")
        if entropy is None:
            entropy = unigram_entropy(counts, masking)
        made.append(
            MaskedBatches(
                make_rows(sentences, tokenizer, length),
                masking,
                options.batch_size,
                options.seed,
                fixed=len(made) == 1,
                shapes=made[0].shapes if made else None,
            )
        )
    say(
        f"Rows: {len(made[0].rows.inputs)} training, "
        f"{len(made[1].rows.inputs)} held out; padded to {made[0].shapes}",
        f"Unigram entropy: {entropy:.4f} nats, the loss of who knows only how "
        "often each token comes",
    )
    return *made, entropy


def _score_hidden(model, watched, entropy):
    """Loss and accuracy where the held-out texts show `[MASK]`.

    One asked token in ten stands there unchanged: a model that only copies
    what it sees has a lower loss than the unigram entropy over all of them.
    """
    hidden = watched.hidden_only()
    if not any(hidden.counted(number) for number in range(len(hidden))):
        say("Held out: too little text to show a [MASK]")
        return None
    logs = model.evaluate(hidden, verbose=0, return_dict=True)
    found = {
        "loss": float(logs["masked_lm_crossentropy"]),
        "accuracy": float(logs["masked_lm_accuracy"]),
    }
    say(
        f"Held out, [MASK] alone: loss {found['loss']:.4f} (unigram entropy "
        f"{entropy:.4f}), accuracy {found['accuracy']:.4f}"
    )
    return found


def unigram_entropy(counts: np.ndarray, masking: Masking) -> float:
    """Entropy (nats) of the tokens that may be masked.

    Args:
        counts: int array (vocabulary,), how often each token comes.
        masking: says which tokens these are.
    """
    counts = counts[masking.ordinary_ids]
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def _rate(options, is_random):
    if options.learning_rate is not None:
        return options.learning_rate
    return RATE_FROM_RANDOM if is_random else RATE_FROM_CHECKPOINT


def _train(model, batches, watched, options, rate, callbacks):
    """Trains to the end and goes back to the best epoch."""
    started = time.perf_counter()
    steps = options.gradient_accumulation_steps
    fed = in_updates(batches, steps)
    trainable = model.trainable_variables
    say(
        f"Pretraining: {count_parameters(trainable):,} parameters, "
        f"{options.epochs} epochs of {len(fed)} steps at {rate:g}"
    )
    optimizer = make_optimizer(
        trainable,
        rate,
        options.epochs * len(fed),
        steps_per_update=steps,
        warmup=options.warmup,
        weight_decay=options.weight_decay,
        clip_norm=options.clip_norm,
        scale_loss=model.encoder.dtype_policy.name == "mixed_float16",
    )
    losses = SmoothCrossentropy(reduction=reduction(steps))
    metrics = weighted_metrics(model)
    if isinstance(model, Pretraining):
        losses = dict.fromkeys(metrics, losses)
    model.compile(optimizer=optimizer, loss=losses, weighted_metrics=metrics)
    best = BestState()
    epochs = PretrainEpochs(options.epochs, best)
    model.fit(
        fed,
        validation_data=watched,
        epochs=options.epochs,
        shuffle=False,  # the batches do, and know the right order
        verbose=0,
        callbacks=[epochs, *callbacks],
    )
    if best.stage is None:
        raise RunFailed(
            "No epoch gave a finite loss on the held-out texts; lower the "
            "learning rate."
        )
    best.restore(model)
    record = {
        "name": "pretrain",
        "trainable_parameters": count_parameters(trainable),
        "epochs": len(epochs.history),
        "learning_rate": rate,
        "seconds": round(time.perf_counter() - started, 2),
        "padding_share": round(batches.padding_share, 4),
        "shapes": batches.shapes,
        "history": epochs.history,
        "validation": epochs.history[best.epoch - 1],
    }
    return record, best
