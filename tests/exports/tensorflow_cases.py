"""Keras networks through tf2onnx."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import keras
import numpy as np
import tensorflow as tf
import tf2onnx
from keras import layers

import case

OPSETS = (13, 17, 18)


def _convolutions():
    x = image = keras.Input((24, 24, 3))
    for filters in (8, 12):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
        y = layers.DepthwiseConv2D(3, padding="same")(x)
        y = layers.Conv2D(filters, 1, activation="swish")(y)
        x = layers.Add()([x, y])
    x = layers.GlobalAveragePooling2D()(x)
    return keras.Model(image, layers.Dense(5, activation="softmax")(x))


def _dense():
    x = data = keras.Input((12,))
    x = layers.Dense(16, activation="elu")(layers.Rescaling(0.5, offset=-0.1)(x))
    x = layers.Dense(16, activation="selu")(layers.Dropout(0.3)(x))
    return keras.Model(data, [layers.Dense(3)(x), layers.Dense(1, activation="sigmoid")(x)])


def _recurrent(layer):
    def make():
        tokens = keras.Input((10,), dtype="int32")
        x = layers.Embedding(40, 8)(tokens)
        x = layers.Bidirectional(layer(7, return_sequences=True))(x)
        return keras.Model(tokens, layers.Dense(2)(layer(6)(x)))

    return make


def _gelu(x):
    # The exact form becomes Erfc, which ONNX does not have.
    return keras.activations.gelu(x, approximate=True)


def _transformer():
    tokens = keras.Input((8,), dtype="int32")
    x = layers.Embedding(40, 16)(tokens)
    y = layers.MultiHeadAttention(2, 8)(x, x, use_causal_mask=True)
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    y = layers.Dense(16)(layers.Dense(32, activation=_gelu)(x))
    return keras.Model(tokens, layers.LayerNormalization()(layers.Add()([x, y])))


def _unet():
    x = image = keras.Input((16, 16, 2))
    skip = layers.Conv2D(8, 3, padding="same", activation="leaky_relu")(x)
    x = layers.MaxPooling2D()(skip)
    x = layers.Conv2D(8, 3, padding="same", dilation_rate=2, activation="relu")(x)
    up = layers.UpSampling2D(2, interpolation="bilinear")(x)
    transposed = layers.Conv2DTranspose(8, 3, strides=2, padding="same")(x)
    x = layers.Concatenate()([skip, up, transposed])
    return keras.Model(image, layers.Conv2D(1, 1, activation="sigmoid")(x))


def _audio():
    x = wave = keras.Input((64, 1))
    for rate in (1, 2, 4):
        y = layers.Conv1D(6, 3, padding="causal", dilation_rate=rate, activation="tanh")(x)
        x = layers.Concatenate()([x, y])
    return keras.Model(wave, layers.Dense(4)(layers.GlobalMaxPooling1D()(x)))


def _floats(*shape):
    return lambda random, batch: random.normal(size=(batch, *shape)).astype(np.float32)


def _tokens(*shape):
    return lambda random, batch: random.integers(0, 40, (batch, *shape)).astype(np.int32)


NETWORKS = {
    "convolutions": (_convolutions, _floats(24, 24, 3)),
    "dense": (_dense, _floats(12)),
    "lstm": (_recurrent(layers.LSTM), _tokens(10)),
    "gru": (_recurrent(layers.GRU), _tokens(10)),
    "transformer": (_transformer, _tokens(8)),
    "unet": (_unet, _floats(16, 16, 2)),
    "audio": (_audio, _floats(64, 1)),
}


def _export(name, opset):
    keras.utils.set_random_seed(sum(name.encode()))
    random = np.random.default_rng(1)
    make, inputs = NETWORKS[name]
    network = make()
    feeds = [inputs(random, batch) for batch in (2, 3)]
    spec = tf.TensorSpec([None, *feeds[0].shape[1:]], feeds[0].dtype, name="x")
    function = tf.function(lambda x: network(x, training=False), input_signature=[spec])
    model, _ = tf2onnx.convert.from_function(function, input_signature=[spec], opset=opset)
    return model, [{model.graph.input[0].name: feed} for feed in feeds]


def cases():
    for name in NETWORKS:
        for opset in OPSETS:
            yield case.Case(
                f"tensorflow_{name}_{opset}", lambda n=name, o=opset: _export(n, o))
