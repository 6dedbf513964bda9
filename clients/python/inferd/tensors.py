"""NumPy arrays to and from the protocol's binary form."""

import struct

import numpy as np

_DATATYPES = {
    "bool": "BOOL", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
    "float16": "FP16", "float32": "FP32", "float64": "FP64",
}
_DTYPES = {datatype: np.dtype(name).newbyteorder("<") for name, datatype in _DATATYPES.items()}


def encode(array):
    """Returns (datatype, shape, bytes)."""
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return "BYTES", list(array.shape), b"".join(map(_encode_string, array.ravel()))
    datatype = _DATATYPES.get(array.dtype.name)
    if datatype is None:
        raise TypeError(f"the protocol has no datatype for NumPy's {array.dtype}")
    return datatype, list(array.shape), array.astype(_DTYPES[datatype], order="C").tobytes()


def decode(datatype, shape, data):
    if datatype == "BYTES":
        return np.array(_decode_strings(data), dtype=object).reshape(shape)
    if datatype == "BF16":
        # A bfloat16 is the upper half of a float.
        upper = np.frombuffer(data, dtype="<u2").astype("<u4") << 16
        return upper.view("<f4").reshape(shape)
    return np.frombuffer(data, dtype=_DTYPES[datatype]).reshape(shape)


def _encode_string(value):
    data = value if isinstance(value, bytes) else str(value).encode()
    return struct.pack("<I", len(data)) + data


def _decode_strings(data):
    strings, position = [], 0
    while position < len(data):
        (length,) = struct.unpack_from("<I", data, position)
        position += 4
        if position + length > len(data):
            raise ValueError("a BYTES tensor is cut off")
        strings.append(data[position:position + length])
        position += length
    return strings
