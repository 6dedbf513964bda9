"""torch.onnx: both exporters, several opsets, dynamic dimensions."""

import io

import numpy as np
import onnx
import torch

import case
import torch_networks as nets


def _floats(*shape, low=-1.0, high=1.0):
    return torch.rand(*shape) * (high - low) + low


def _tokens(high, *shape):
    return torch.randint(0, high, shape)


def _images(size):
    return lambda batch: {"image": _floats(batch, 3, size, size)}


def _llama(batch):
    past = 5
    return {
        "input_ids": _tokens(100, batch, 3),
        "position_ids": (torch.arange(3) + past).expand(batch, 3).clone(),
        "past_key": _floats(batch, 2, past, 8),
        "past_value": _floats(batch, 2, past, 8),
    }


def _bert(batch):
    mask = torch.ones(batch, 12, dtype=torch.int64)
    mask[-1, 7:] = 0
    return {
        "input_ids": _tokens(100, batch, 12),
        "attention_mask": mask,
        "token_type_ids": _tokens(2, batch, 12),
    }


# name: network, inputs for a batch size, whether the first dimension of every input is the batch.
NETWORKS = {
    "resnet": (nets.ResNet, _images(64), True),
    "mobilenet": (nets.MobileNet, _images(32), True),
    "convnext": (nets.ConvNext, _images(32), True),
    "vit": (nets.VisionTransformer, _images(32), True),
    "swin": (nets.WindowAttention, lambda b: {"x": _floats(b, 16, 16, 16)}, True),
    "bert": (nets.Bert, _bert, True),
    "encoder": (nets.TorchEncoder, lambda b: {"x": _floats(b, 9, 32)}, True),
    "gpt": (nets.Gpt, lambda b: {"input_ids": _tokens(100, b, 11)}, True),
    "llama": (nets.Llama, _llama, True),
    "lstm": (lambda: nets.Recurrent("LSTM", True), lambda b: {"tokens": _tokens(50, b, 9)}, True),
    "gru": (lambda: nets.Recurrent("GRU", True), lambda b: {"tokens": _tokens(50, b, 9)}, True),
    "rnn": (lambda: nets.Recurrent("RNN", False), lambda b: {"tokens": _tokens(50, b, 9)}, True),
    "lstm_state": (
        nets.StatefulLstm,
        lambda b: {"x": _floats(7, 1, 10), "h": _floats(1, 1, 16), "c": _floats(1, 1, 16)}, False),
    "unet": (lambda: nets.Unet(True), _images(32), True),
    "unet_bilinear": (lambda: nets.Unet(False), _images(32), True),
    "detector": (nets.Detector, _images(64), True),
    "diffusion": (
        nets.Diffusion, lambda b: {"x": _floats(b, 3, 8, 8), "step": _tokens(1000, b)}, True),
    "super_resolution": (
        nets.SuperResolution, lambda b: {"x": _floats(b, 1, 12, 10, low=0.0)}, True),
    "wavenet": (nets.WaveNet, lambda b: {"x": _floats(b, 1, 64)}, True),
    "spatial_transformer": (nets.SpatialTransformer, _images(16), True),
    "graph": (
        nets.GraphNetwork,
        lambda b: {"nodes": _floats(10, 8), "edges": _tokens(10, 2, 25)}, False),
    "recommender": (
        nets.Recommender,
        lambda b: {"user": _tokens(20, b), "item": _tokens(30, b), "numbers": _floats(b, 3)}, True),
    "tensor_ops": (
        nets.TensorOps,
        lambda b: {"x": _floats(2, 6, 8), "index": torch.tensor([1, 5, 2])}, False),
}
# The first opset of the old exporter that has what the network needs.
OLDEST = {
    "bert": 14, "detector": 14, "diffusion": 14, "encoder": 14, "gpt": 14, "graph": 16,
    "spatial_transformer": 20, "swin": 14, "tensor_ops": 13, "vit": 14,
}
FAST = ("resnet", "vit", "bert", "llama", "lstm", "unet", "detector")
SCRIPT_OPSETS = (11, 13, 17, 20)
DYNAMO_OPSETS = (18, 21, 23)


def _export(name, dynamo, opset):
    torch.manual_seed(sum(name.encode()))
    # The fused encoder layer is no operator of ONNX.
    torch.backends.mha.set_fastpath_enabled(False)
    make, inputs, batched = NETWORKS[name]
    network = make().eval()
    # Statistics that are not the ones of a fresh network.
    for module in network.modules():
        if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
            module.running_mean.uniform_(-0.3, 0.3)
            module.running_var.uniform_(0.6, 1.4)
    feeds = [inputs(2), inputs(3)] if batched else [inputs(2)]
    names = list(feeds[0])
    file = io.BytesIO()
    with torch.no_grad():
        if dynamo:
            batch = torch.export.Dim("batch", min=1, max=64)
            program = torch.onnx.export(
                network, tuple(feeds[0].values()), input_names=names, dynamo=True,
                opset_version=opset, verbose=False,
                dynamic_shapes=tuple({0: batch} for _ in names) if batched else None)
            program.save(file)
        else:
            torch.onnx.export(
                network, tuple(feeds[0].values()), file, input_names=names, dynamo=False,
                opset_version=opset,
                dynamic_axes={n: {0: "batch"} for n in names} if batched else None)
    model = onnx.load_from_string(file.getvalue())
    kept = {i.name for i in model.graph.input}
    return model, [{n: np.asarray(t) for n, t in f.items() if n in kept} for f in feeds]


def cases():
    for name in NETWORKS:
        for opset in SCRIPT_OPSETS:
            if opset < OLDEST.get(name, 0):
                continue
            yield case.Case(
                f"torch_{name}_script{opset}",
                lambda n=name, o=opset: _export(n, False, o), name in FAST and opset == 17)
        for opset in DYNAMO_OPSETS:
            yield case.Case(
                f"torch_{name}_dynamo{opset}",
                lambda n=name, o=opset: _export(n, True, o), name in FAST and opset == 18)
