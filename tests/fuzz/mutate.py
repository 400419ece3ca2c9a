"""Damage to a file: flipped bytes, cuts, splices, insertions and words of the format.

Where a checksum or a packing would hide all damage but its own (zip, gzip, our JSON and
safetensors), most of the damage is done inside and the file is packed and signed again.
"""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from pathlib import Path
from random import Random
from typing import Any

from graphfilter.util.records import (
    CHECKSUM,
    read_checked_json,
    read_tensors,
    write_checked_json,
    write_tensors,
)

# Numbers and words that parsers have stumbled over, whatever the format.
TOKENS = (
    b"0", b"-1", b"1", b"-0.0", b"nan", b"inf", b"1e999", b"-", b"%", b"#", b"\n", b"\r\n", b"\t",
    b",", b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b"(", b")", b"<", b">", b"&#55296;", b"\0",
    b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"2147483647", b"2147483648", b"4294967296",
    b"9223372036854775807", b"9223372036854775808", b"1" * 400, b"[" * 2000, b"\xff" * 8,
    b"\xff\xff\xff\x7f", b"\0" * 8, b"true", b"null", b"None", b"<f2", b"|O", b"<U9", b"<i8",
    b"|S0",
)  # fmt: skip
NUMBERS = (0, -1, 1, 2, 0.5, -1e308, 2**31, 2**63, 2**64, 5 * 10**8, float("nan"), float("inf"))
VALUES = (None, True, "", "nan", "\ud800", [], {}, [[]], *NUMBERS)


def mutate_file(path: Path, others: list[bytes], random: Random) -> None:
    """Damage a file in place, the same way for the same ``random``."""
    inside = {
        ".npz": _mutate_zip,
        ".gz": _mutate_gzip,
        ".json": _mutate_json,
        ".safetensors": _mutate_tensors,
    }.get(path.suffix)
    if inside is not None and random.random() < 0.7:
        inside(path, random)
    else:
        path.write_bytes(mutate(path.read_bytes(), others, random))


def mutate(data: bytes, others: list[bytes], random: Random) -> bytes:
    """Damage some bytes in one to four places; headers decide most, so half of them are there."""
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        near = random.random() < 0.5
        at = random.randrange(min(len(changed), 256 if near else len(changed)) + 1)
        if near and random.random() < 0.3:  # formats with a footer decide most at the end
            at = max(0, len(changed) - at)
        how = random.randrange(8)
        if how == 0 and at < len(changed):
            changed[at] ^= 1 << random.randrange(8)
        elif how == 1 and at < len(changed):
            changed[at] = random.randrange(256)
        elif how == 2:
            del changed[at:]
        elif how == 3:
            del changed[at : at + random.choice((1, 2, 4, 16, 256))]
        elif how == 4:
            changed[at:at] = random.choice(TOKENS)
        elif how == 5:
            token = random.choice(TOKENS)
            changed[at : at + len(token)] = token
        elif how == 6:
            source = random.choice(others) if others else data
            start = random.randrange(len(source) + 1)
            changed[at:at] = source[start : start + random.choice((1, 8, 64, 1024))]
        else:
            start = random.randrange(len(changed) + 1)
            changed[at:at] = changed[start : start + random.choice((1, 8, 64, 1024))]
    return bytes(changed)


def _mutate_zip(path: Path, random: Random) -> None:
    """Damage one member, drop one, or give one the content of another."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name, other = random.choice(list(members)), random.choice(list(members))
    how = random.randrange(10)
    if how == 0:
        del members[name]
    elif how == 1:
        members[name] = members[other]
    else:
        members[name] = mutate(members[name], [members[other]], random)
    packed = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(packed, "w", method) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    path.write_bytes(packed.getvalue())


def _mutate_gzip(path: Path, random: Random) -> None:
    path.write_bytes(gzip.compress(mutate(gzip.decompress(path.read_bytes()), [], random), 1))


def _mutate_json(path: Path, random: Random) -> None:
    """Change, drop or add one value anywhere, and sign the file again."""
    content = read_checked_json(path)
    holder: Any = content
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = random.choice(keys)
        if not (isinstance(holder[key], dict | list) and holder[key] and random.random() < 0.8):
            break
        holder = holder[key]
    if random.random() < 0.2:
        del holder[key]
    elif isinstance(holder, dict) and random.random() < 0.1:
        holder[random.choice(("", "x", CHECKSUM, "format"))] = random.choice(VALUES)
    else:
        holder[key] = random.choice(VALUES)
    try:
        write_checked_json(path, content)
    except ValueError:  # NaN, which our writer refuses and Python's reader takes
        path.write_text(json.dumps(content))


def _mutate_tensors(path: Path, random: Random) -> None:
    """Change the shape, type or values of one tensor, or the metadata, and sign again."""
    import torch

    tensors, metadata = read_tensors(path)
    name = random.choice(sorted(tensors))
    tensor = tensors[name]
    how = random.randrange(6)
    if how == 0:
        del tensors[name]
    elif how == 1:
        tensors[random.choice((name + "x", "", "run0.", "member0.x", "adam.step"))] = tensor
    elif how == 2:
        tensors[name] = tensor.to(random.choice((torch.float64, torch.int64, torch.bool)))
    elif how == 3:
        shape = random.choice(([0], [1], [3], [1, 1], [2, 3, 4], [tensor.numel()], [1000, 100]))
        tensors[name] = torch.zeros(shape, dtype=tensor.dtype)
    elif how == 4 and tensor.is_floating_point():
        tensors[name] = torch.full_like(tensor, random.choice((torch.nan, torch.inf, 1e38, 0.0)))
    else:
        key = random.choice(sorted(metadata))
        metadata[key] = random.choice([v for v in VALUES if v == v and v != float("inf")])
    write_tensors(path, tensors, metadata)
