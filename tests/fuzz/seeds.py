#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small files for fuzzers to start from: seeds.py FOLDER"""
import gzip
import os
import struct
import sys


def nifti1(dim, code, bits, data, swap="<", magic=b"n+1\0", **more):
    """A header as bytes, with the data behind it."""
    h = bytearray(352)

    def put(at, form, *values):
        struct.pack_into(swap + form, h, at, *values)

    put(0, "i", 348)
    put(40, "8h", *(list(dim) + [1] * (8 - len(dim))))
    put(56, "f", more.get("p1", 0))
    put(68, "3h", more.get("intent", 0), code, bits)
    put(76, "8f", 1, 2, 2.5, 3, 1, 1, 1, 1)
    put(108, "3f", 352 if magic == b"n+1\0" else 0, more.get("slope", 0), more.get("inter", 0))
    h[123] = 10
    put(252, "2h", more.get("qform", 0), more.get("sform", 0))
    put(256, "6f", 0.1, 0.2, 0.3, 4, 5, 6)
    put(280, "12f", -2, 0.1, 0, 90, 0, 2, 0, -126, 0, 0.2, 2, -72)
    h[328:328 + len(more.get("name", b""))] = more.get("name", b"")
    h[344:348] = magic
    return bytes(h) + data


def nifti2(dim, code, bits, data, swap="<"):
    h = bytearray(544)
    struct.pack_into(swap + "i8s2h", h, 0, 540, b"n+2\0\r\n\x1a\n", code, bits)
    struct.pack_into(swap + "8q", h, 16, *(list(dim) + [1] * (8 - len(dim))))
    struct.pack_into(swap + "8d", h, 104, 1, 2, 2, 2, 1, 1, 1, 1)
    struct.pack_into(swap + "q2d", h, 168, 544, 0, 0)
    struct.pack_into(swap + "2i", h, 344, 1, 1)
    struct.pack_into(swap + "12d", h, 400, 2, 0, 0, 1, 0, 2, 0, 1, 0, 0, 2, 1)
    return bytes(h) + data


def record(name, values, swap="<"):
    head = struct.pack(swap + "5i", 1000 if swap == ">" else 0, len(values), 1, 0, len(name) + 1)
    return head + name + b"\0" + struct.pack(swap + "%dd" % len(values), *values)


def volumes():
    few = bytes(range(96))
    for i, (code, bits) in enumerate([(2, 8), (256, 8), (4, 16), (512, 16), (8, 32), (768, 32),
                                      (16, 32), (64, 64), (1024, 64), (1280, 64), (128, 24), (32, 64)]):
        count = 96 * 8 // bits
        yield f"type{i}", nifti1([3, 3, 2, 2], code, bits, few * 2, qform=i % 2, sform=i % 3)
        yield f"big{i}", nifti1([1, count], code, bits, few, ">", slope=2, inter=1)
        yield f"two{i}", nifti2([3, 3, 2, 2], code, bits, few * 2, "<>"[i % 2])
    field = few * 3
    yield "itk", nifti1([5, 2, 2, 2, 1, 3], 16, 32, field, intent=1007, sform=1)
    for p1 in range(5):
        yield f"reg{p1}", nifti1([5, 2, 2, 2, 1, 3], 16, 32, field, intent=1007, p1=p1, name=b"NREG_TRANS")
    yield "spm", nifti1([5, 2, 2, 2, 1, 3], 16, 32, field, intent=1007, name=b"Mapping")
    yield "mrtrix", nifti1([4, 2, 2, 2, 3], 16, 32, field, sform=1)
    yield "tensor", nifti1([5, 2, 2, 2, 1, 6], 16, 32, field, intent=1005)
    yield "label", nifti1([3, 2, 2, 2], 2, 8, few, intent=1002)
    yield "pair", nifti1([3, 2, 2, 2], 2, 8, few, magic=b"ni1\0")[:348] + few
    yield "analyze", nifti1([3, 2, 2, 2], 2, 8, few, magic=b"\0\0\0\0")[:348] + few
    yield "gzip", gzip.compress(nifti1([3, 2, 2, 2], 2, 8, few))


def transforms():
    head = b"#Insight Transform File V1.0\n#Transform 0\nTransform: "
    for name, count, fixed in [(b"AffineTransform", 12, 3), (b"MatrixOffsetTransformBase", 12, 3),
                               (b"Euler3DTransform", 6, 4), (b"VersorRigid3DTransform", 6, 3),
                               (b"Similarity3DTransform", 7, 3), (b"TranslationTransform", 3, 0),
                               (b"IdentityTransform", 0, 0), (b"CompositeTransform", 0, 0)]:
        numbers = " ".join(str(((i * 37) % 11) / 17 - 0.2) for i in range(count)).encode()
        yield name.decode(), (head + name + b"_double_3_3\nParameters: " + numbers +
                              b"\nFixedParameters: " + b"1 2 3 0 "[:2 * fixed] + b"\n")
    yield "rows", b"# remark\n0.9 0.1 0 5\n-0.1 0.9 0 -6\n0 0 1.1 7\n0 0 0 1\n"
    yield "rows3", b"0.9 0.1 0 5e0\n-1E-1 0.9 0 -6\n0 0 1.1 7"
    values = [1.5, 0, 0, 0, 1, 0.25, 0, 0, 1, 3, 4, 5]
    for swap, name in ("<", "mat"), (">", "matbig"):
        yield name, record(b"AffineTransform_double_3_3", values, swap) + record(b"fixed", [1, 2, 3], swap)
    yield "hdf", b"\x89HDF\r\n\x1a\n"
    yield "warp", nifti1([5, 2, 2, 2, 1, 3], 16, 32, bytes(96), intent=1007)


def main():
    for name, make in ("volume", volumes), ("transform", transforms):
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        for seed, content in make():
            with open(os.path.join(folder, seed), "wb") as file:
                file.write(content)


main()
