"""Writes GGUF files, version 3, of keys and tensors."""

import struct

U8, U32, I32, F32, BOOL, STRING, ARRAY = 0, 4, 5, 6, 7, 8, 9
ALIGNMENT = 32


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def array(kind, packed, count):
    return ARRAY, struct.pack("<IQ", kind, count) + packed


def strings(values):
    return array(STRING, b"".join(map(text, values)), len(values))


def entry(value):
    """The type and the bytes of a scalar."""
    if isinstance(value, bool):
        return BOOL, struct.pack("<?", value)
    if isinstance(value, int):
        return U32, struct.pack("<I", value)
    if isinstance(value, float):
        return F32, struct.pack("<f", value)
    return STRING, text(value)


def padding(size):
    return bytes(-size % ALIGNMENT)


def write(path, keys, tensors=()):
    """keys: pairs of a name and what `entry` or `array` gives. tensors: name, shape (outermost first), type's number, bytes."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, (kind, data) in keys:
        head += text(key) + struct.pack("<I", kind) + data
    offset = 0
    for name, shape, kind, data in tensors:
        head += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *reversed(shape), kind, offset)
        offset += len(data) + len(padding(len(data)))
    with open(path, "wb") as file:
        file.write(head + (padding(len(head)) if tensors else b""))
        for *_, data in tensors:
            file.write(data + padding(len(data)))
