"""A small CNN on scikit-learn's 8x8 handwritten digits, trained with NumPy alone.

conv 3x3 (1 -> 16), relu, conv 3x3 (16 -> 32), relu, max pool 2x2, dense 128, relu, dense 10.
"""

import json
import struct
import zlib

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from model_file import EXAMPLES, save

RNG = np.random.default_rng(20)


def he(*shape):
    fan_in = int(np.prod(shape[1:]))
    return (RNG.standard_normal(shape) * np.sqrt(2.0 / fan_in)).astype(np.float32)


def columns(x):
    """[N,C,H,W] -> [N,H,W,C*9]: the 3x3 neighbourhood of every pixel, zero beyond the border."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))
    n, c, h, w = x.shape
    return windows.transpose(0, 2, 3, 1, 4, 5).reshape(n, h, w, c * 9)


class Conv:
    def __init__(self, inputs, outputs):
        self.p = {"w": he(outputs, inputs, 3, 3), "b": np.zeros(outputs, np.float32)}

    def forward(self, x):
        self.shape, self.cols = x.shape, columns(x)
        w = self.p["w"].reshape(len(self.p["w"]), -1)
        return (self.cols @ w.T + self.p["b"]).transpose(0, 3, 1, 2)

    def backward(self, dy):
        dy = dy.transpose(0, 2, 3, 1)
        flat = dy.reshape(-1, dy.shape[-1])
        self.g = {"w": (flat.T @ self.cols.reshape(len(flat), -1)).reshape(self.p["w"].shape),
                  "b": flat.sum(0)}
        # The gradient of a 3x3 convolution is the convolution with the kernel turned around.
        turned = self.p["w"][:, :, ::-1, ::-1].transpose(1, 0, 2, 3)
        cols = columns(dy.transpose(0, 3, 1, 2))
        return (cols @ turned.reshape(len(turned), -1).T).transpose(0, 3, 1, 2)


class Dense:
    def __init__(self, inputs, outputs):
        self.p = {"w": he(outputs, inputs), "b": np.zeros(outputs, np.float32)}

    def forward(self, x):
        self.x = x
        return x @ self.p["w"].T + self.p["b"]

    def backward(self, dy):
        self.g = {"w": dy.T @ self.x, "b": dy.sum(0)}
        return dy @ self.p["w"]


class Relu:
    p = {}

    def forward(self, x):
        self.mask = x > 0
        return x * self.mask

    def backward(self, dy):
        return dy * self.mask


class PoolAndFlatten:
    p = {}

    def forward(self, x):
        n, c, h, w = x.shape
        blocks = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = blocks.max(axis=(3, 5), keepdims=True)
        self.mask, self.shape = blocks == y, x.shape
        return y.reshape(n, -1)

    def backward(self, dy):
        n, c, h, w = self.shape
        return (self.mask * dy.reshape(n, c, h // 2, 1, w // 2, 1)).reshape(self.shape)


def shifted(x):
    """Each image moved by up to one pixel: what makes so small a data set go further."""
    out = np.zeros_like(x)
    for i, (dy, dx) in enumerate(RNG.integers(-1, 2, (len(x), 2))):
        out[i] = np.roll(x[i], (dy, dx), axis=(1, 2))
    return out


def train(layers, x, y, epochs=40, batch=64, rate=2e-3):
    """Adam on the cross entropy."""
    moments = {}
    step = 0
    for epoch in range(epochs):
        order = RNG.permutation(len(x))
        lr = rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
        for start in range(0, len(x), batch):
            pick = order[start:start + batch]
            h = shifted(x[pick])
            for layer in layers:
                h = layer.forward(h)
            p = np.exp(h - h.max(1, keepdims=True))
            p /= p.sum(1, keepdims=True)
            p[np.arange(len(pick)), y[pick]] -= 1
            d = (p / len(pick)).astype(np.float32)
            for layer in reversed(layers):
                d = layer.backward(d)
            step += 1
            for layer in layers:
                for name in layer.p:
                    m, v = moments.setdefault((id(layer), name), (0.0, 0.0))
                    g = layer.g[name]
                    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                    moments[(id(layer), name)] = (m, v)
                    update = lr * (m / (1 - 0.9 ** step)) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
                    layer.p[name] = (layer.p[name] - update).astype(np.float32)


def predict(layers, x):
    for layer in layers:
        x = layer.forward(x)
    return x.argmax(1)


def write_png(path, image):
    """One 8-bit gray image."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    height, width = image.shape
    rows = b"".join(b"\0" + bytes(row) for row in image.astype(np.uint8))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" +
                     chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
                     chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def export(layers):
    conv1, conv2, dense1, dense2 = (l for l in layers if l.p)
    init = [numpy_helper.from_array(np.float32(1 / 16).reshape(()), "scale")]
    for name, layer in (("conv1", conv1), ("conv2", conv2), ("dense1", dense1),
                        ("dense2", dense2)):
        init.append(numpy_helper.from_array(layer.p["w"], f"{name}.weight"))
        init.append(numpy_helper.from_array(layer.p["b"], f"{name}.bias"))
    node = helper.make_node
    nodes = [
        node("Mul", ["image", "scale"], ["scaled"], name="scale_to_one"),
        node("Conv", ["scaled", "conv1.weight", "conv1.bias"], ["c1"], name="conv1",
             pads=[1, 1, 1, 1]),
        node("Relu", ["c1"], ["r1"], name="relu1"),
        node("Conv", ["r1", "conv2.weight", "conv2.bias"], ["c2"], name="conv2",
             pads=[1, 1, 1, 1]),
        node("Relu", ["c2"], ["r2"], name="relu2"),
        node("MaxPool", ["r2"], ["pooled"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["pooled"], ["flat"], name="flatten"),
        node("Gemm", ["flat", "dense1.weight", "dense1.bias"], ["d1"], name="dense1", transB=1),
        node("Relu", ["d1"], ["r3"], name="relu3"),
        node("Gemm", ["r3", "dense2.weight", "dense2.bias"], ["logits"], name="dense2", transB=1),
        node("Softmax", ["logits"], ["probabilities"], name="softmax", axis=1),
        node("ArgMax", ["logits"], ["label"], name="argmax", axis=1, keepdims=0),
    ]
    save("digits", nodes,
         [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, 8, 8])],
         [helper.make_tensor_value_info("label", TensorProto.INT64, ["batch"]),
          helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 10])],
         init, config="# Gray 8x8 images with values from 0 (paper) to 16 (ink).\n"
                      "latency_budget: 20ms\nmax_batch_size: 32\n")


def main():
    digits = load_digits()
    images = digits.images.astype(np.float32)[:, None]
    train_x, test_x, train_y, test_y = train_test_split(
        images, digits.target, test_size=360, random_state=3, stratify=digits.target)
    layers = [Conv(1, 16), Relu(), Conv(16, 32), Relu(), PoolAndFlatten(), Dense(512, 128), Relu(),
              Dense(128, 10)]
    train(layers, train_x / 16, train_y)
    right = predict(layers, test_x / 16) == test_y
    print(f"digits: test accuracy {right.mean():.4f}")
    export(layers)

    folder = EXAMPLES / "data" / "digits"
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "test_images.npy", test_x.astype(np.uint8))
    np.save(folder / "test_labels.npy", test_y.astype(np.uint8))
    for digit in range(10):
        index = int(np.argmax(test_y == digit))
        pixels = test_x[index, 0]
        # As a picture: white paper, black ink, 0..255.
        write_png(folder / f"{digit}.png", 255 - np.round(pixels * 255 / 16))
        request = {"inputs": [{"name": "image", "shape": [1, 1, 8, 8], "datatype": "FP32",
                               "data": [int(v) for v in pixels.ravel()]}]}
        (folder / f"{digit}.json").write_text(json.dumps(request) + "\n")


if __name__ == "__main__":
    main()
