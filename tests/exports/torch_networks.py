"""Architectures people export, small and with random weights."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def conv(inputs, outputs, size=3, stride=1, groups=1, act=nn.ReLU):
    layers = [
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(outputs),
    ]
    return nn.Sequential(*layers, act()) if act else nn.Sequential(*layers)


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride=1):
        super().__init__()
        outputs = 4 * width
        self.body = nn.Sequential(
            conv(inputs, width, 1), conv(width, width, 3, stride), conv(width, outputs, 1, act=None)
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else conv(inputs, outputs, 1, stride, act=None)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 16, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(
            Bottleneck(16, 8), Bottleneck(32, 8), Bottleneck(32, 16, 2), Bottleneck(64, 16)
        )
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1)
        return self.head(torch.flatten(x, 1))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        hidden = 4 * inputs
        self.expand = conv(inputs, hidden, 1, act=nn.Hardswish)
        self.depthwise = conv(hidden, hidden, 5, stride, hidden, nn.Hardswish)
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(hidden, hidden // 4, 1), nn.ReLU(),
            nn.Conv2d(hidden // 4, hidden, 1), nn.Hardsigmoid(),
        )
        self.project = conv(hidden, outputs, 1, act=None)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.depthwise(self.expand(x))
        y = self.project(y * self.gate(y))
        return x + y if self.residual else y


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv(3, 16, 3, 2, act=nn.Hardswish), InvertedResidual(16, 16, 1),
            InvertedResidual(16, 24, 2), InvertedResidual(24, 24, 1), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Linear(24, 32), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(32, 7),
        )

    def forward(self, x):
        return self.body(x).softmax(-1)


class ConvNext(nn.Module):
    """Depthwise 7x7, LayerNorm over channels last, GELU, learned scale."""

    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.full((width,), 0.3))

    def forward(self, x):
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = (self.scale * self.mlp(y)).permute(0, 3, 1, 2)
        return (x + y).mean((2, 3))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x, mask=None, causal=False):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, act=nn.GELU):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), act(), nn.Linear(4 * width, width))

    def forward(self, x, mask=None, causal=False):
        x = x + self.attention(self.norm1(x), mask, causal)
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, 17, width) * 0.1)
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(2)])
        self.head = nn.Linear(width, 5)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(x[:, 0])


class WindowAttention(nn.Module):
    """Windows of 4x4, shifted by a roll, as in Swin."""

    def __init__(self, width=16, window=4):
        super().__init__()
        self.window = window
        self.block = Block(width, 2)
        self.merge = nn.Linear(4 * width, 2 * width)

    def forward(self, x):  # [B, 16, 16, C]
        batch, height, width, channels = x.shape
        w = self.window
        x = torch.roll(x, (-w // 2, -w // 2), (1, 2))
        x = x.view(batch, height // w, w, width // w, w, channels)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, channels)
        x = self.block(x).view(batch, height // w, width // w, w, w, channels)
        x = x.permute(0, 1, 3, 2, 4, 5).reshape(batch, height, width, channels)
        x = torch.roll(x, (w // 2, w // 2), (1, 2))
        parts = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        return self.merge(torch.cat(parts, -1))


class Bert(nn.Module):
    """Token, position and segment embeddings, a padding mask, the pooled first token."""

    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(100, width, padding_idx=0)
        self.positions = nn.Embedding(64, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(2)])
        self.pooler = nn.Linear(width, width)

    def forward(self, input_ids, attention_mask, token_type_ids):
        place = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.words(input_ids) + self.positions(place) + self.segments(token_type_ids)
        x = self.norm(x)
        mask = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -10000.0
        for block in self.blocks:
            x = block(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class TorchEncoder(nn.Module):
    """nn.TransformerEncoder itself, with its own attention and padding mask."""

    def __init__(self, width=32):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 4, 64, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x):
        return self.encoder(x)


class Gpt(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(100, width)
        self.positions = nn.Embedding(64, width)
        self.blocks = nn.ModuleList([Block(width, 4) for _ in range(2)])
        self.norm = nn.LayerNorm(width)

    def forward(self, input_ids):
        place = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.words(input_ids) + self.positions(place)
        for block in self.blocks:
            x = block(x, causal=True)
        return self.norm(x) @ self.words.weight.t()


class Llama(nn.Module):
    """One decoder layer with RMSNorm, rotary positions, grouped heads and a key-value cache."""

    def __init__(self, width=32, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.words = nn.Embedding(100, width)
        self.weight = nn.Parameter(torch.ones(width) + 0.1 * torch.randn(width))
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.gate = nn.Linear(width, 64, bias=False)
        self.up = nn.Linear(width, 64, bias=False)
        self.down = nn.Linear(64, width, bias=False)

    def norm(self, x):
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    def rotate(self, x, positions):
        half = self.size // 2
        rates = 10000.0 ** (-torch.arange(half, dtype=torch.float32) / half)
        angles = positions[:, None, :, None].to(torch.float32) * rates
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin

    def forward(self, input_ids, position_ids, past_key, past_value):
        batch, length = input_ids.shape
        x = self.words(input_ids)
        h = self.norm(x)
        q = self.q(h).view(batch, length, self.heads, self.size).transpose(1, 2)
        k = self.k(h).view(batch, length, self.groups, self.size).transpose(1, 2)
        v = self.v(h).view(batch, length, self.groups, self.size).transpose(1, 2)
        q, k = self.rotate(q, position_ids), self.rotate(k, position_ids)
        key, value = torch.cat([past_key, k], 2), torch.cat([past_value, v], 2)
        many = self.heads // self.groups
        scores = q @ key.repeat_interleave(many, 1).transpose(2, 3) / math.sqrt(self.size)
        total = key.shape[2]
        seen = torch.arange(total)[None, None, None, :] <= position_ids[:, None, :, None]
        scores = scores.masked_fill(~seen, torch.finfo(torch.float32).min)
        y = scores.softmax(-1) @ value.repeat_interleave(many, 1)
        x = x + y.transpose(1, 2).reshape(batch, length, -1)
        h = self.norm(x)
        x = x + self.down(F.silu(self.gate(h)) * self.up(h))
        return x @ self.words.weight.t(), key, value


class Recurrent(nn.Module):
    def __init__(self, kind, bidirectional):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.rnn = getattr(nn, kind)(16, 12, 2, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(24 if bidirectional else 12, 4)

    def forward(self, tokens):
        y, _ = self.rnn(self.words(tokens))
        return self.head(y[:, -1]), y


class StatefulLstm(nn.Module):
    """A streaming step: the state goes in and out."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(10, 16)
        self.head = nn.Linear(16, 1)

    def forward(self, x, h, c):
        y, (h, c) = self.lstm(x, (h, c))
        return torch.sigmoid(self.head(y)), h, c


class Unet(nn.Module):
    def __init__(self, transposed):
        super().__init__()
        self.down1, self.down2 = conv(3, 8, act=nn.LeakyReLU), conv(8, 16, act=nn.LeakyReLU)
        self.middle = conv(16, 16)
        self.up = (
            nn.ConvTranspose2d(16, 16, 2, 2)
            if transposed
            else nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        )
        self.last = nn.Sequential(conv(32, 8), nn.Conv2d(8, 2, 1))

    def forward(self, x):
        skip = self.down2(self.down1(x))
        y = self.up(self.middle(F.max_pool2d(skip, 2)))
        return self.last(torch.cat([skip, y], 1))


class Detector(nn.Module):
    """A feature pyramid, anchor-free heads, box decoding and matrix suppression."""

    def __init__(self, classes=3):
        super().__init__()
        self.stage1 = conv(3, 16, 3, 4, act=nn.SiLU)
        self.stage2 = conv(16, 16, 3, 2, act=nn.SiLU)
        self.head = nn.Conv2d(16, 4 + classes, 3, padding=1)

    def decode(self, y, stride):
        batch, _, height, width = y.shape
        rows = torch.arange(height, dtype=torch.float32)
        columns = torch.arange(width, dtype=torch.float32)
        grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij")[::-1], -1).view(1, -1, 2)
        y = y.flatten(2).transpose(1, 2)
        centers = (grid + y[..., :2].sigmoid()) * stride
        sizes = y[..., 2:4].clamp(max=4).exp() * stride
        return torch.cat([centers - sizes / 2, centers + sizes / 2], -1), y[..., 4:].sigmoid()

    def forward(self, image):
        fine = self.stage1(image)
        coarse = self.stage2(fine)
        fine = fine + F.interpolate(coarse, scale_factor=2.0, mode="nearest")
        found = [self.decode(self.head(f), s) for f, s in ((fine, 4), (coarse, 8))]
        boxes, scores = (torch.cat(parts, 1) for parts in zip(*found))
        best, classes = scores.max(-1)
        best, order = best.topk(20, dim=1)
        boxes = boxes.gather(1, order[..., None].expand(-1, -1, 4))
        classes = classes.gather(1, order)
        low = torch.maximum(boxes[:, :, None, :2], boxes[:, None, :, :2])
        high = torch.minimum(boxes[:, :, None, 2:], boxes[:, None, :, 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        area = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
        overlap = shared / (area[:, :, None] + area[:, None, :] - shared)
        overlap = overlap.triu(1) * (classes[:, :, None] == classes[:, None, :])
        return boxes, best * (1 - overlap.max(1).values), classes


class Diffusion(nn.Module):
    """A denoising block: sinusoidal time, GroupNorm, SiLU, attention over pixels."""

    def __init__(self, width=16):
        super().__init__()
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(16, width), nn.SiLU(), nn.Linear(width, width))
        self.norm = nn.GroupNorm(4, width)
        self.middle = nn.Conv2d(width, width, 3, padding=1)
        self.attention = Attention(width, 2)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x, step):
        rates = torch.exp(-math.log(10000) * torch.arange(8) / 8)
        angles = step[:, None].to(torch.float32) * rates
        x = self.first(x)
        h = self.middle(F.silu(self.norm(x)))
        h = h + self.time(torch.cat([angles.sin(), angles.cos()], 1))[:, :, None, None]
        batch, channels, height, width = h.shape
        tokens = self.attention(h.flatten(2).transpose(1, 2))
        h = tokens.transpose(1, 2).reshape(batch, channels, height, width)
        return self.last(F.silu(x + h))


class SuperResolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.PReLU(16), nn.Conv2d(16, 9, 3, padding=1),
            nn.PixelShuffle(3),
        )

    def forward(self, x):
        base = F.interpolate(x, scale_factor=3.0, mode="bicubic", align_corners=False)
        return (base + self.body(x)).clamp(0, 1)


class WaveNet(nn.Module):
    """Causal dilated convolutions with gates."""

    def __init__(self, width=8):
        super().__init__()
        self.first = nn.Conv1d(1, width, 1)
        self.layers = nn.ModuleList(
            [nn.Conv1d(width, 2 * width, 2, dilation=2**i) for i in range(4)]
        )

    def forward(self, x):
        x = self.first(x)
        for i, layer in enumerate(self.layers):
            a, b = layer(F.pad(x, (2**i, 0))).chunk(2, 1)
            x = x + torch.tanh(a) * torch.sigmoid(b)
        return x.mean(-1)


class SpatialTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.where = nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(48, 6))

    def forward(self, x):
        theta = self.where(x).view(-1, 2, 3) * 0.2 + torch.eye(2, 3)
        grid = F.affine_grid(theta, list(x.shape), align_corners=False)
        return F.grid_sample(x, grid, padding_mode="border", align_corners=False)


class GraphNetwork(nn.Module):
    """Messages along edges, summed at their targets."""

    def __init__(self):
        super().__init__()
        self.message = nn.Linear(8, 8)
        self.update = nn.GRUCell(8, 8)

    def forward(self, nodes, edges):
        sent = F.elu(self.message(nodes))[edges[0]]
        where = edges[1][:, None].expand_as(sent)
        got = torch.zeros_like(nodes).scatter_add(0, where, sent)
        return self.update(got, nodes)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(20, 8), nn.Embedding(30, 8)
        self.deep = nn.Sequential(nn.Linear(19, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, user, item, numbers):
        u, i = self.users(user), self.items(item)
        wide = (u * i).sum(-1, keepdim=True)
        return torch.sigmoid(self.deep(torch.cat([u, i, numbers], -1)) + wide).squeeze(-1)


class TensorOps(nn.Module):
    """What models do between their layers."""

    def forward(self, x, index):
        a = torch.einsum("bij,bkj->bik", x, x)
        b = x.cumsum(-1).flip(1)
        c = torch.where(x > 0, x.sqrt().nan_to_num(0.0), x.abs().log1p())
        d = F.pad(x[:, None], (1, 2, 2, 1), mode="reflect").squeeze(1)
        e = F.unfold(x[:, None], 3, padding=1).mean(1)
        values, places = x.flatten(1).topk(4, dim=1, largest=False)
        g = x.index_select(2, index).std(-1, unbiased=True)
        h = F.one_hot(index, 8).to(x.dtype) @ torch.ones(8, 3)
        return a, b, c, d, e, values, places, g, h, torch.logsumexp(x, (1, 2)), x.argmax(-1)
