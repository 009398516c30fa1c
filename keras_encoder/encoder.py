"""The Transformer encoder: embeddings, a stack of blocks, a pooler."""

import warnings

import keras

from keras_encoder.layers.checks import check_heads, check_positive
from keras_encoder.layers.embeddings import Embeddings
from keras_encoder.layers.encoder_block import EncoderBlock
from keras_encoder.layers.initializers import bert_initializer
from keras_encoder.layers.norms import make_norm
from keras_encoder.layers.pooler import Pooler
from keras_encoder.layers.recompute import recompute

# What `Encoder` is made from, each kept under its name.
ARGUMENTS = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "hidden_dim",
    "intermediate_dim",
    "dropout",
    "attention_dropout",
    "max_sequence_length",
    "num_segments",
    "activation",
    "layer_norm_epsilon",
    "norm_first",
    "positions",
    "norm",
)


@keras.saving.register_keras_serializable(package="keras_encoder")
class Encoder(keras.Model):
    """A BERT-style encoder.

    The weights exist as soon as the encoder does; there is nothing to build.

    Args:
        vocabulary_size: int. Number of token ids.
        num_layers: int. Number of blocks.
        num_heads: int. Attention heads a block; must divide `hidden_dim`.
        hidden_dim: int. Width of the hidden states.
        intermediate_dim: int. Width inside the feed-forward networks.
        dropout: float in [0, 1). Dropout on embeddings and sub-layers.
        attention_dropout: float in [0, 1). Dropout on the attention
            probabilities.
        max_sequence_length: int. Longest input, in tokens, with learned
            positions; the other kinds have no such limit.
        num_segments: int. Number of segment ids.
        activation: `"gelu"` (exact), `"gelu_tanh"`, `"relu"` or `"geglu"`.
        layer_norm_epsilon: float. 1e-12 in BERT (Keras' default is 1e-3).
        norm_first: bool. Pre-norm with a final norm if True, else post-norm,
            as in BERT.
        positions: a name in `keras_encoder.layers.positions.POSITIONS`, such
            as `"learned"` (BERT) or `"rotary"`, or None: without positions
            the encoder is blind to the order of the tokens.
        norm: `"layer_norm"` (BERT) or `"rms_norm"`.

    Attributes:
        recompute: bool, False unless set. Training computes each block once
            more instead of keeping its activations: less memory, more time.

    Call arguments:
        inputs: dict of `token_ids` int (batch, seq) and, optionally,
            `segment_ids` int (batch, seq; zeros if absent) and `padding_mask`
            (batch, seq; nonzero = real token; all real if absent).
        return_attention_scores: bool. Also return the probabilities.

    Returns:
        A dict:

        - `sequence_output`: (batch, seq, hidden), states of the last block.
        - `pooled_output`: (batch, hidden), tanh(dense(first token)).
        - `encoder_outputs`: list of `num_layers` tensors (batch, seq,
          hidden), the states after each block; the last one equals
          `sequence_output`. The embeddings are not among them.
        - `attention_scores`, on request: list of `num_layers` tensors (batch,
          heads, seq, seq); each row sums to 1.

    Raises:
        ValueError: for a size, rate or name out of range, or an input longer
            than `longest_input`.

    Example:
    ```python
    encoder = keras_encoder.Encoder(
        vocabulary_size=30522, num_layers=2, num_heads=2, hidden_dim=128,
        intermediate_dim=512,
    )
    outputs = encoder({"token_ids": np.array([[101, 7592, 102]])})
    outputs["pooled_output"].shape  # (1, 128)
    ```

    Reference:
        [Devlin et al., 2018](https://arxiv.org/abs/1810.04805)
    """

    def __init__(
        self,
        vocabulary_size,
        num_layers,
        num_heads,
        hidden_dim,
        intermediate_dim,
        dropout=0.1,
        attention_dropout=0.1,
        max_sequence_length=512,
        num_segments=2,
        activation="gelu",
        layer_norm_epsilon=1e-12,
        norm_first=False,
        positions="learned",
        norm="layer_norm",
        **kwargs,
    ):
        super().__init__(**kwargs)
        check_positive(
            num_layers=num_layers, hidden_dim=hidden_dim, num_heads=num_heads
        )
        check_heads(hidden_dim, num_heads)
        self.vocabulary_size = vocabulary_size
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.hidden_dim = hidden_dim
        self.intermediate_dim = intermediate_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.max_sequence_length = max_sequence_length
        self.num_segments = num_segments
        self.activation = activation
        self.layer_norm_epsilon = layer_norm_epsilon
        self.norm_first = norm_first
        self.positions = positions
        self.norm = norm
        self.recompute = False
        self._make_layers()
        self.build()

    @classmethod
    def from_preset(cls, spec, **overrides):
        """Makes an encoder of a known size or from a checkpoint.

        Args:
            spec: as in `keras_encoder.checkpoints.load.load_encoder`, which
                also returns a tokenizer and a report.
            **overrides: arguments that win over the checkpoint's.

        Returns:
            `Encoder`. A warning says if the checkpoint has no pooler.

        Raises:
            CheckpointError: if there is no such encoder, or it is damaged.
        """
        # Not above: checkpoints are loaded into encoders.
        from keras_encoder.checkpoints.load import load_encoder_only

        encoder, report = load_encoder_only(spec, **overrides)
        if report.matched and report.pooler_is_random:
            warnings.warn(f"Random pooler. {report}", stacklevel=2)
        return encoder

    @property
    def longest_input(self):
        """The most tokens that an input may have, or `math.inf`."""
        return self.embeddings.longest_input

    def _make_layers(self):
        shared = dict(
            dropout=self.dropout,
            layer_norm_epsilon=self.layer_norm_epsilon,
            norm=self.norm,
            dtype=self.dtype_policy,
        )
        self.embeddings = Embeddings(
            self.vocabulary_size,
            self.hidden_dim,
            max_sequence_length=self.max_sequence_length,
            num_segments=self.num_segments,
            embeddings_initializer=bert_initializer(),
            positions=self.positions,
            num_heads=self.num_heads,
            name="embeddings",
            **shared,
        )
        self.blocks = [
            EncoderBlock(
                self.num_heads,
                self.intermediate_dim,
                attention_dropout=self.attention_dropout,
                activation=self.activation,
                norm_first=self.norm_first,
                kernel_initializer=bert_initializer(),
                name=f"block_{i}",
                **shared,
            )
            for i in range(self.num_layers)
        ]
        self.final_norm = None
        if self.norm_first:
            self.final_norm = make_norm(
                self.norm,
                self.layer_norm_epsilon,
                dtype=self.dtype_policy,
                name="final_norm",
            )
        self.pooler = Pooler(
            kernel_initializer=bert_initializer(),
            dtype=self.dtype_policy,
            name="pooler",
        )

    def build(self, input_shape=None):
        if self.built:
            return
        states = (None, None, self.hidden_dim)
        self.embeddings.build((None, None))
        for block in self.blocks:
            block.build(states)
        if self.final_norm is not None:
            self.final_norm.build(states)
        self.pooler.build(states)
        self.built = True

    def call(self, inputs, return_attention_scores=False, training=None):
        states = self.embed(inputs, training=training)
        mask = inputs.get("padding_mask")
        position_arguments = self._position_arguments(states)
        encoder_outputs, attention_scores = [], []
        for block in self.blocks:
            states = self._run(
                block,
                states,
                training,
                padding_mask=mask,
                return_attention_scores=return_attention_scores,
                **position_arguments,
            )
            if return_attention_scores:
                states, probabilities = states
                attention_scores.append(probabilities)
            encoder_outputs.append(states)
        if self.final_norm is not None:
            encoder_outputs[-1] = self.final_norm(states)
        outputs = {
            "sequence_output": encoder_outputs[-1],
            "pooled_output": self.pooler(encoder_outputs[-1]),
            "encoder_outputs": encoder_outputs,
        }
        if return_attention_scores:
            outputs["attention_scores"] = attention_scores
        return outputs

    def compute_output_spec(
        self, inputs, return_attention_scores=False, training=None
    ):
        # Stated, not traced: some backends trace an unknown length as a
        # large one, for which there may be no positions.
        batch, length = inputs["token_ids"].shape

        def spec(*shape, dtype=self.compute_dtype):
            return keras.KerasTensor((batch, *shape), dtype=dtype)

        layers = range(self.num_layers)
        outputs = {
            "sequence_output": spec(length, self.hidden_dim),
            "pooled_output": spec(self.hidden_dim),
            "encoder_outputs": [spec(length, self.hidden_dim) for _ in layers],
        }
        if return_attention_scores:
            shape = (self.num_heads, length, length)
            outputs["attention_scores"] = [
                spec(*shape, dtype="float32") for _ in layers
            ]
        return outputs

    def embed(self, inputs, training=None):
        """Returns the embeddings (batch, seq, hidden), the first block's input.

        Args:
            inputs: as in the call of the encoder.
            training: bool or None. A frozen layer never runs in training mode.

        Raises:
            ValueError: if `inputs` is no dict with `token_ids`.
        """
        if not isinstance(inputs, dict) or "token_ids" not in inputs:
            found = sorted(inputs) if isinstance(inputs, dict) else inputs
            raise ValueError(
                "`inputs` must be a dict with `token_ids` and, optionally, "
                f"`segment_ids` and `padding_mask`. Received: {found}"
            )
        return self.embeddings(
            inputs["token_ids"],
            inputs.get("segment_ids"),
            training=training and self.embeddings.trainable,
        )

    def encode(
        self,
        states,
        padding_mask=None,
        start=0,
        stop=None,
        first_token_only=False,
        training=None,
    ):
        """Runs blocks `start` to `stop` and nothing that is not asked for.

        Args:
            states: tensor (batch, seq, hidden), the input of block `start`.
            padding_mask: None or tensor (batch, seq).
            start: int. First block to run.
            stop: int or None. Block to stop before; None runs all that are
                left, and the final norm where there is one.
            first_token_only: bool. Compute the last block's output for the
                first token alone, all that a classifier reads: a seventh of
                the work of six layers less.
            training: bool or None. A frozen block never runs in training mode.

        Returns:
            Tensor (batch, seq, hidden), or (batch, 1, hidden) with
            `first_token_only`.
        """
        last = self.num_layers - 1
        position_arguments = self._position_arguments(states)
        for index, block in enumerate(self.blocks[start:stop], start=start):
            states = self._run(
                block,
                states,
                training,
                padding_mask=padding_mask,
                first_token_only=first_token_only and index == last,
                **position_arguments,
            )
        if stop is None and self.final_norm is not None:
            states = self.final_norm(states)
        return states[:, :1] if first_token_only else states

    def _run(self, block, states, training, **arguments):
        arguments["training"] = training and block.trainable
        if self.recompute and arguments["training"]:
            return recompute(block, states, **arguments)
        return block(states, **arguments)

    def _position_arguments(self, states):
        return self.embeddings.attention_arguments(keras.ops.shape(states)[1])

    def get_config(self):
        own = {name: getattr(self, name) for name in ARGUMENTS}
        return {**super().get_config(), **own}
