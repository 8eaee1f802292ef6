#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small files for fuzzers to start from: seeds.py FOLDER"""
import base64
import bz2
import gzip
import json
import os
import struct
import sys
import zlib


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


def mghs():
    place = struct.pack(">h15f", 1, 1, 2, 2.5, -1, 0, 0, 0, 0, -1, 0, 1, 0, 5, -6, 7)
    for code, size in (0, 1), (1, 4), (3, 4), (4, 2), (10, 2), (2, 4):
        head = struct.pack(">7i", 1, 3, 2, 2, 2, code, 0)
        yield f"type{code}", (head + place).ljust(284, b"\0") + bytes(range(24)) * size + bytes(20)
    yield "coronal", struct.pack(">7i", 1, 3, 2, 1, 1, 0, 0).ljust(284, b"\0") + bytes(6)
    yield "warp", struct.pack(">7i", 0x401, 3, 2, 1, 1, 3, 0).ljust(284, b"\0") + bytes(24)
    yield "gzip", gzip.compress(struct.pack(">7i", 1, 3, 2, 1, 1, 0, 0).ljust(284, b"\0") + bytes(6))


def nrrds():
    head = "NRRD0005\n# remark\ntype: {}\ndimension: {}\nsizes: {}\nencoding: {}\nendian: big\n"
    space = ("space: {}\nspace directions: none (1,0.1,0) (0,-1,0) (0,0,2.5)\nspace origin: (1,2,3)\n"
             "kinds: {} domain domain domain\nmeasurement frame: (0,1,0) (1,0,0) (0,0,1)\nspace units: \"mm\" \"um\"\n")
    few = bytes(range(96))
    for i, (kind, frames) in enumerate([("list", 2), ("vector", 3), ("RGB-color", 3), ("3D-symmetric-matrix", 6),
                                        ("3D-masked-symmetric-matrix", 7), ("3D-matrix", 9), ("none", 1)]):
        text = head.format(("float", "double", "uchar", "float", "short", "int8", "longlong")[i], 4, f"{frames} 2 1 2", "raw")
        yield f"kind{i}", (text + space.format(("RAS", "left-anterior-superior", "LPS")[i % 3], kind) + "\n").encode() + few * 4
    plain = head.format("uchar", 3, "3 2 1", "raw") + "spacings: 1 nan 2\nkey:=value: x\nbyte skip: -1\n\n"
    yield "plain", plain.encode() + few[:9]
    yield "flat", (head.format("uchar", 2, "3 2", "raw") + "space directions: (1,0,0) (0,1,0)\n\n").encode() + few
    yield "gzip", (head.format("short", 3, "3 2 1", "gzip") + "byte skip: 2\n\n").encode() + gzip.compress(few)
    yield "whole", gzip.compress(plain.replace("byte skip: -1\n", "").encode() + few)
    text = b"".join(b"%d " % v for v in few[:6])
    yield "ascii", (head.format("short", 3, "3 2 1", "ascii") + "line skip: 1\nbyte skip: 1\n\nx\ny").encode() + text
    yield "real", (head.format("double", 3, "3 1 1", "txt") + "\n1.5,-2e-3 nan").encode()
    yield "hex", (head.format("short", 3, "3 2 1", "hex") + "\n").encode() + few[:12].hex().encode()
    yield "bzip2", (head.format("short", 3, "3 2 1", "bz2") + "byte skip: 2\n\n").encode() + bz2.compress(few)
    yield "detached", (head.format("uchar", 3, "3 2 1", "raw") + "data file: none.raw").encode()


def metas():
    head = "ObjectType = Image\nNDims = {}\nBinaryData = {}\nBinaryDataByteOrderMSB = {}\nCompressedData = {}\n"
    place = "TransformMatrix = 1 0.1 0 0 -1 0 0 0 1\nOffset = 1 2 3\nElementSpacing = 2 2.5 3\nAnatomicalOrientation = RAI\n"
    few = bytes(range(96))
    for i, kind in enumerate(("CHAR", "UCHAR", "SHORT", "USHORT", "INT", "ULONG", "LONG_LONG", "FLOAT", "DOUBLE")):
        channels = (1, 3, 2)[i % 3]
        yield kind, (head.format(3, True, i % 2 == 0, False) + place + f"DimSize = 2 2 1\nElementNumberOfChannels = {channels}\n"
                     f"ElementType = MET_{kind}\nElementDataFile = LOCAL\n").encode() + few
    last = "ElementType = MET_FLOAT_ARRAY\nElementDataFile = "
    yield "vectors", (head.format(3, True, False, False) + "DimSize = 2 1 2\nElementNumberOfChannels = 3\n" + last + "LOCAL\n").encode() + few
    yield "four", (head.format(4, True, False, False) + "DimSize = 2 1 2 3\nElementSpacing = 1 2 3 .5\n" + last + "LOCAL\n").encode() + few
    yield "two", ("NDims = 2\nDimSize = 3 2\nPosition = 4 5\nElementSize = 1 2\n" + last + "LOCAL\n").encode() + few
    yield "zlib", (head.format(3, True, False, True) + place + "DimSize = 3 2 1\n" + last + "LOCAL\n").encode() + zlib.compress(few[:24])
    yield "text", (head.format(3, False, False, False) + "DimSize = 3 1 1\n" + last + "LOCAL\n1 -2e3 nan").encode()
    yield "whole", gzip.compress((head.format(3, True, False, False) + "DimSize = 2 1 1\n" + last + "LOCAL\n").encode() + few)
    yield "elsewhere", (head.format(3, True, False, False) + "HeaderSize = -1\nDimSize = 2 1 1\n" + last + "none.raw\n").encode()
    yield "away", (head.format(3, True, False, False) + "DimSize = 2 1 1\n" + last + "../none.raw").encode()


def mifs():
    few = bytes(range(96))
    for i, kind in enumerate(("Bit", "UInt8", "Int16BE", "Float32LE", "Float64", "CFloat32")):
        layout = ("+0,+1,+2,+3", "-1,+0,-2,+3", "+3,-2,-1,-0")[i % 3]
        text = (f"mrtrix image\ndim: 3,1,2,2\nvox: 1,nan,2.5,3\nlayout: {layout}\ndatatype: {kind}\n"
                "transform: 1,0,0,4\ntransform: 0,0,-1,5\ntransform: 0,1,0,6\nscaling: 1,2\ndw_scheme: 0,0,1,1000\n"
                "file: . 256\nEND\n").encode().ljust(256, b"\0") + few
        yield kind, text
        yield kind + "gz", gzip.compress(text)
    yield "mih", b"mrtrix image\ndim: 3,2,1\nlayout: +0,+1,+2\ndatatype: UInt8\nfile: a b.dat 4\nEND\n"


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
    yield "afni", b"# 3dAllineate matrices (DICOM-to-DICOM, row-by-row):\n 1 0 0 5 0 .9 .1 6 0 -.1 .9 7\n"
    yield "afnis", b"1 0 0 5 0 1 0 6 0 0 1 7\n1 0 0 5 0 1 0 6 0 0 1 7\n"
    values = [1.5, 0, 0, 0, 1, 0.25, 0, 0, 1, 3, 4, 5]
    for swap, name in ("<", "mat"), (">", "matbig"):
        yield name, record(b"AffineTransform_double_3_3", values, swap) + record(b"fixed", [1, 2, 3], swap)
    yield "hdf", b"\x89HDF\r\n\x1a\n"
    yield "warp", nifti1([5, 2, 2, 2, 1, 3], 16, 32, bytes(96), intent=1007)


def ltas():
    info = ("valid = 1  # volume info valid\nfilename = x\nvolume = 5 4 3\nvoxelsize = 1 2 1.5\nxras   = -1 0 0\n"
            "yras   = 0 0 -1\nzras   = 0 1 0\ncras   = 5 -6 7\n")
    for kind in 0, 1, 2, 14, 15, 21:
        yield f"type{kind}", (f"# x\ntype      = {kind}\nnxforms   = 1\nmean      = 0 0 0\nsigma     = 1.0\n1 4 4\n"
                              "0.9 0.1 0 5e0\n-1E-1 0.9 0 -6\n0 0 1.1 7\n0 0 0 1\n"
                              f"src volume info\n{info}dst volume info\n{info}subject me\n").encode()
    yield "register", b"some body\n1.5\n3\n0.15\n0.9 0.1 0 5e0\n-1E-1 0.9 0 -6\n0 0 1.1 7\n0 0 0 1\nround\n"
    yield "unknown", b"type = 0\nnxforms = 1\n1 4 4\n1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\nsrc volume info\nvalid = 0\n"


def itks():
    head = "#Insight Transform File V1.0\n#Transform 0\nTransform: {}\nParameters: {}\nFixedParameters: {}\n"
    place = "0 1 2 2 2 2.5 1 0 0 0 1 0 0 0 -1"
    spline = head.format("BSplineTransform_double_3_3", " ".join(str(i % 7) for i in range(240)), "4 4 5 " + place)
    field = head.format("DisplacementFieldTransform_float_3_3", " ".join(str(i % 5) for i in range(36)), "2 3 2 " + place)
    move = head.format("TranslationTransform_double_3_3", "1 2 3", "")
    yield "spline", spline.encode()
    yield "field", field.encode()
    yield "several", (head.format("CompositeTransform_double_3_3", "", "") + move + field + spline + move).encode()


# Written by h5py 3.16.0 (groups of old; an affine, shuffled and deflated) and by SimpleITK 2 (checked by sums; a
# composite of eight, whose group is a heap and a tree).
OLD_HDF5 = (
    'c-rlnF>ljA6vyw*F-@BQ?N%ZebwW%KsU5oEil+5|XapIUng()KE2T~3G*bBnLE-'
    '~+WbDXCKw{w|bY$$vgxEqZerNkmBm^i@)c$|V%kw>*otM9!t$+M3*xJ6mP+DM$e4gdlBFi!$&dO%4*Y_!MihYXbLLcX&wPiZKMEl!ywHK9&s'
    'vcPA^L%yVm}lT75>z&;D!!sz>*<Ry>uOQsxEr>kqn)VT>!iB$|MI-!^cy&Fe&9~0-^+RE7y3>0tEX(=HS5aOJPrQwyf2^cZYc$8-K{#-'
    '{+5oxpUr{lT%332r<(&+4|4!>fU%ES5BmP_`2U{Qo&yi(%sF7|7>t_(Zrn4j^LQd~&W(QR=nU7@=X=BTMVk9OGXdOTRJjoG;XLi<aKC8YDVX'
    '(yJsXsic8ckD-g&zFjAt&JXX+H2VR(2flc%(Lv)y~$lJ&Lvnz`?%yU-c{000000000mtHeH&lla&dk0#e^KlN;7a-'
    'H_A%7vTJN6v0d^qI(VNuu_dmR6rouY9&%VCw_&_Y<GV5u*(XY-5yj`u|Lf);a4Q^un+ulYVnL-jrdhaUxkR`8~*|65{-'
    'RdMO!OJGjz*C|{lb!dG7&Q-'
    'ATm%!`(e00000aQ!&ld$a%H&JXt4D|+Ak()$(9WBz4s51j!3006Epzk5%IY>`Zy(mxTxdQayYISsZG(Vxk_ByZl--'
    'gaa*uQsB_kvx%6*R0z<Je5srF>Pz|{{L0;6BE|4bN')
LARGE_HDF5 = (
    'c-'
    'rgqaB<`1lHy|G;9!7(|4^Xd2H_h(#j_+|FZcIw31U)cKf|4kj4POgkTt>p7ZU>`0|T2V1CZkK4Dk+2Eh^5;&pQk?4=Mq40aW5XBSb<#fPvu|'
    'D}-'
    '&ufDki=iYdUIdYI4O3+yCCbSE(|GKw%TFfjrFR4t5V7GYqN1abrzAQ&Rf!N3Z1Ei)4b&?n4{4A9UJfLXMGVaS1V(w`(~5jFx6LqBYetFGBWi'
    '?C4`24NF9cQOMl!p2}2gpF>N*cE?g4{tURkRLhygP|ptI15DHWJyXRjv^9L7(xolL$(m*A$Cx6BWUO3Pn>Bx!A=$gIhoBr*e@|R^*0l=2$lp'
    '1@`V&7<`t*q7v;Ja<(C!&LyOsOfpvGuDeomfX7a+#45=(g-'
    'OL7cjSXd<xu0_AGcD4l!!Ssj(`Pr#0!OqQ$dAJC@DE5V0>*d=Fri9ILsUvk421;_D5?cG5CP`y?C-;f6cWhlK)_VbM9%_9L(>m~43q{|;-'
    '(5YnMp;7MU@I=kW68vV5nzkq-'
    'O|@1T=GeGV@9+fHXAUFz`cZGd)8KJrfh%v}D~fGc!xLdRZv#oS$2eUz}Nz3in=oN`7flPHMbyyfG+2L)FPcX|S@K#1f!$u<BqZQ9TEV>N!bN'
    '&qbnoZW7h=kf@%QMD;LmfR|wujDk@x3P!;w7zLwX6pVsVFbYP&AO<o>;{i-'
    ');{(jlemacL0_~T>_#m}Z8ZUYb9gksC2FXdl<=iqWQd1BE8viAs!!`m84CkR;c`XK{@t+^L-'
    '|y36yeL3n=#LjU+VFiN6gKF3Kw%@OU=JMzabPgvW-'
    '$2=Oc&s=;evz>EOr@&aM)~klJ$~M*uaLgm`Mnm1ZcXE7{Xzrt9!DNO4<CB3{lzqnJglk%PC;V=BBaHfwaix6~iE#s~$RWax|OMH=B11gKX}<'
    '%uyHrbOIA}P`G_#??jj`d8GCL8{Di9_E3fcgyL{OR>w}HIu0V$aT2MHi%50cM5^N<QXMZIb)zlNQ7{Td!6+C7LlID`|F1z@|6dc)F)-'
    'J`(lLl#u;&sjItB}dLC0X4nBM!*jsbl;1{;P!$6)fp&4C2g8EHdQ%Ff+Cn@R=37agJs1OYunf#6|)r9cp8XpW~vfpB6N6bM%WRNO}k1o{>TH'
    '-<rhu*+s9Fa82SM<1ecC%fb{DisLEhC~$z{zixbq1^;afpD}V`7VCPvp7RkZ@-'
    '%z3vc33x%l`n42lnXR<Avy#Rq+h4+h1dUwk~^KFo+e2WCUpl@``CPoPrqQDjO~@zH07C_au^U@1P1FOGWU798x#Pz7De&sfjM&<JAO6J!j)*'
    '+Zgo@gbo&^ox&zYo>am#Rq+h4~=0^d@$~5Y{XxDtTKnF<UUZei%P}EMoXfKkF!>Y;)B%|OYxzv>BL0F01LHuzYK%oW8)RioukDEeT$EPVNiU'
    ';@!7iKFFsycLsWiUI_)EsijOl6L=_(|9Fd9-LoCGyCwuT7w;+!I@DwT&BL5=XQV&h^u;vMT;}%-'
    '6!%1Xtu^{P$7_9)L6<lCqK~8hCokBcZ7+68-'
    'Kr^Q)8fWZacED`e6L2}wEf}bZ0p>pRVhdqk07C_M!#7061=?<tVnC&rMb2336yoE?z?vs=oq<7=0W=+Za_L<WhCnd$*?&<L23Iiidy}aiLn)'
    'Y9vvATZa1)w`K_jqXD}yeW$r$Uulfe?q)H}!fkRcY#44-'
    'rAJ3}T!?dlKKqeK0JbMAr4Rb$35s2Xn`THQTbHPW|gtQZDWBZoP&kDG^!6MVZm2<-'
    'Pd8_&qVXrRCb%S?=h0TOVwk+}?<Z5*HhXPYGIz}con25`37MiV&O{DTFYZJ}>FTA&RA007uM%@z')


def hdf5s():
    for name, packed in ("old", OLD_HDF5), ("large", LARGE_HDF5):
        yield name, zlib.decompress(base64.b85decode(packed))


def fnirts():
    """Of fuzz_format's fixed grid, so that they are read to their end: a field, splines, cosines."""
    for code, size in (2006, (5, 4, 3)), (2007, (5, 4, 4)), (2008, (5, 4, 3)), (2009, (5, 4, 4)):
        volume = bytearray(nifti1([4, *size, 3], 16, 32, bytes(range(96)) * 10, intent=code, qform=1, sform=1))
        struct.pack_into("<3f", volume, 56, 2, 2, 2)
        struct.pack_into("<3f", volume, 80, 2, 1, 3)
        struct.pack_into("<6f", volume, 256, 0, 0, 0, 5, 4, 3)
        yield str(code), bytes(volume)


def gradients():
    yield "fsl", b"\x040 1000 995 2000\n%0 1 0 0.6\n0 0 1 0\n0 0 0 -.8e0\n"
    yield "transposed", b"\x04\xef\xbb\xbf0\r\n1000\r\n995\n5\n%nan nan nan\n0,2,0\n-3\t0 4\n0 0 0"
    yield "mrtrix", b"\x03# command_history: x\n0 0 0 0\n2,0,0,1000\n0 -0.6 0.8 2500 # last\n"
    yield "wrong", b"\x03%0 inf 1e999\n0x1p3 1_0\n"


POINTS = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1.5]
CORNERS = [0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3]


def words(values, least=0):
    return " ".join(str(v + least) for v in values)


def gifti(encoding, big=False, columns=False, types="FLOAT32 INT32", place="", meta=""):
    """A tetrahedron in one of GIFTI's forms."""
    out = f'<?xml version="1.0"?><!DOCTYPE GIFTI SYSTEM "x.dtd"><GIFTI Version="1.0">{meta}<LabelTable/>'
    for intent, name, values in zip(("POINTSET", "TRIANGLE"), types.split(), (POINTS, CORNERS)):
        if columns:
            values = [values[3 * row + k] for k in range(3) for row in range(4)]
        form = {"FLOAT32": "f", "FLOAT64": "d", "INT32": "i", "INT16": "h", "UINT8": "B"}[name]
        raw = struct.pack("<>"[big] + f"{len(values)}{form}", *values)
        if encoding == "ASCII":
            text = words(values)
        else:
            text = base64.b64encode(zlib.compress(raw) if encoding[0] == "G" else raw).decode()
        out += (f'<DataArray Intent="NIFTI_INTENT_{intent}" DataType="NIFTI_TYPE_{name}" Dimensionality="2" '
                f'ArrayIndexingOrder="{"Column" if columns else "Row"}MajorOrder" Dim0="4" Dim1="3" '
                f'Encoding="{encoding}" Endian="{"Big" if big else "Little"}Endian">{meta}{place}'
                f'<Data>{text}</Data></DataArray>')
    return (out + "</GIFTI>").encode()


def matrix(space, other):
    return (f"<CoordinateSystemTransformMatrix><DataSpace>NIFTI_XFORM_{space}</DataSpace><TransformedSpace>"
            f"NIFTI_XFORM_{other}</TransformedSpace><MatrixData>0 1 0 5 1 0 0 6 0 0 1 7 0 0 0 1</MatrixData>"
            "</CoordinateSystemTransformMatrix>")


def remarks():
    names = [f"VolGeom{axis}_{way}" for axis in "XYZC" for way in "RAS"]
    values = [-1, 0, 0, 0, 0, -1, 0, 1, 0, 5, -6, 7]
    pairs = (f"<MD><Name>{n}</Name><Value><![CDATA[{v}]]></Value></MD>" for n, v in zip(names, values))
    return "<MetaData>" + "".join(pairs) + "</MetaData>"


def vtk(binary, version, section):
    """section: the faces, as a list of text and of integers."""
    form = "BINARY" if binary else "ASCII"
    out = f"# vtk DataFile Version {version}\nt\n{form}\nDATASET POLYDATA\n".encode()
    for part in [b"POINTS 4 float\n", POINTS, *section]:
        if isinstance(part, bytes):
            out += part
        elif binary:
            out += struct.pack(f">{len(part)}{'f' if part is POINTS else 'i'}", *part) + b"\n"
        else:
            out += words(part).encode() + b"\n"
    return out


def ply(form):
    head = (f"ply\nformat {form} 1.0\ncomment c\nelement vertex 4\nproperty float x\nproperty float y\n"
            "property float z\nproperty uchar red\nelement face 4\nproperty list uchar int vertex_indices\n"
            "element tristrips 1\nproperty list int int vertex_indices\nend_header\n").encode()
    if form == "ascii":
        rows = [words(POINTS[i:i + 3]) + " 7" for i in range(0, 12, 3)]
        rows += ["3 " + words(CORNERS[i:i + 3]) for i in range(0, 12, 3)]
        return head + ("\n".join(rows) + "\n5 0 1 2 3 -1\n").encode()
    end = ">" if "big" in form else "<"
    out = b"".join(struct.pack(end + "3fB", *POINTS[i:i + 3], 7) for i in range(0, 12, 3))
    out += b"".join(struct.pack(end + "B3i", 3, *CORNERS[i:i + 3]) for i in range(0, 12, 3))
    return head + out + struct.pack(end + "6i", 5, 0, 1, 2, 3, -1)


def stl(text):
    facets = [[POINTS[3 * c:3 * c + 3] for c in CORNERS[i:i + 3]] for i in range(0, 12, 3)]
    if text:
        out = "solid name\n"
        for f in facets:
            rows = "".join(f"vertex {words(p)}\n" for p in f)
            out += f"facet normal 0 0 1\nouter loop\n{rows}endloop\nendfacet\n"
        return (out + "endsolid name\n").encode()
    return bytes(80) + struct.pack("<I", 4) + b"".join(
        struct.pack("<12fH", 0, 0, 1, *f[0], *f[1], *f[2], 0) for f in facets)


def freesurfer(tail):
    return (b"\xff\xff\xfecreated by me\n\n" + struct.pack(">2i12f12i", 4, 4, *POINTS, *CORNERS) + tail)


def tck(form, end, placed=" ."):
    """Two streamlines and one of a single point."""
    nan, inf = [float("nan")] * 3, [float("inf")] * 3
    numbers = POINTS[:9] + nan + POINTS[:3] + nan + POINTS[3:9] + nan + inf
    head = f"mrtrix tracks\ndatatype: {form}\ncount: 3\nfile:{placed} 80\nEND\n".encode()
    return head.ljust(80) + struct.pack(f"{end[0]}{len(numbers)}{end[1]}", *numbers)


def trk(end, order):
    head = bytearray(1000)
    head[:5] = b"TRACK"
    struct.pack_into(f"{end}3h3f", head, 6, 10, 20, 30, 2, 3, 4)
    struct.pack_into(f"{end}h", head, 36, 1)
    struct.pack_into(f"{end}h", head, 238, 2)
    struct.pack_into(f"{end}16f", head, 440, 2, 0, 0, -10, 0, 3, 0, 20, 0, 0, 4, 5, 0, 0, 0, 1)
    head[948:951] = order
    struct.pack_into(f"{end}3i", head, 988, 2, 2, 1000)
    line = struct.pack(f"{end}i10f", 2, 3, 4.5, 6, 7, 5, 7.5, 14, 8, 1, 2)
    return bytes(head) + line + line


def surfaces():
    for form, end in ("Float32LE", "<f"), ("Float32BE", ">f"), ("Float64LE", "<d"), ("Float64BE", ">d"):
        yield "tck" + form, tck(form, end)
    for end, order in ("<", b"RAS"), (">", b"LPI"):
        yield "trk" + order.decode(), trk(end, order)
    for encoding in "ASCII", "Base64Binary", "GZipBase64Binary":
        yield "gii" + encoding, gifti(encoding)
        yield "giibig" + encoding, gifti(encoding, True, True, "FLOAT64 INT16")
    for i, (space, other) in enumerate([("UNKNOWN", "SCANNER_ANAT"), ("UNKNOWN", "TALAIRACH"),
                                        ("SCANNER_ANAT", "MNI_152"), ("UNKNOWN", "ALIGNED_ANAT")]):
        yield f"giispace{i}", gifti("ASCII", place=matrix(space, other))
    yield "giiremarks", gifti("ASCII", types="FLOAT32 UINT8", meta=remarks())
    yield "giigz", gzip.compress(gifti("Base64Binary"))
    faces = [v for i in range(0, 12, 3) for v in [3, *CORNERS[i:i + 3]]]
    for binary in False, True:
        yield f"vtk{binary}", vtk(binary, "3.0", [b"POLYGONS 4 16\n", faces])
        yield f"vtkstrip{binary}", vtk(binary, "3.0", [b"LINES 1 3\n", [2, 0, 1], b"TRIANGLE_STRIPS 1 5\n",
                                                       [4, 0, 1, 2, 3], b"CELL_DATA 1\n"])
        head = b"METADATA\nINFORMATION 0\n\nPOLYGONS 5 12\nOFFSETS vtktypeint32\n"
        yield f"vtk5{binary}", vtk(binary, "5.1", [head, [0, 3, 6, 9, 12], b"CONNECTIVITY int\n", CORNERS])
        yield f"vtklines{binary}", vtk(binary, "3.0", [b"LINES 2 7\n", [3, 0, 1, 2, 2, 3, 0]])
        yield f"vtkfield{binary}", vtk(binary, "4.2", [b"FIELD FieldData 1\nname 1 2 int\n", [5, 6],
                                                       b"POLYGONS 1 5\n", [4, 0, 1, 2, 3]])
    for form in "ascii", "binary_little_endian", "binary_big_endian":
        yield form, ply(form)
    yield "stltext", stl(True)
    yield "stl", stl(False)
    geometry = (b"valid = 1  # volume info valid\nfilename = x\nvolume = 256 256 256\nvoxelsize = 1 1 1\n"
                b"xras   = -1 0 0\nyras   = 0 0 -1\nzras   = 0 1 0\ncras   = 5 -6 7\n")
    yield "fs", freesurfer(b"")
    yield "fsgeometry", freesurfer(struct.pack(">3i", 2, 0, 20) + geometry)
    yield "fsold", freesurfer(struct.pack(">i", 20) + geometry + struct.pack(">2i", 3, 0))
    rows = "".join(f"v {words(POINTS[i:i + 3])}\n" for i in range(0, 12, 3))
    yield "obj", (rows + "".join(f"f {words(CORNERS[i:i + 3], 1)}\n" for i in range(0, 12, 3))).encode()
    yield "objmore", ("o a\nvt 0 0\nvn 0 0 1\n" + rows + "f 1/1/1 2//1 3/1 -1 # four\nf 1 2 \\\n3\n").encode()
    yield "byu", f"1 4 4 12\n1 4\n{words(POINTS)}\n1 3 -2 1 2 -4 2 3 -4 3 1 -4\n".encode()
    yield "byuparts", f"2 4 2 7\n1 1 2 2\n{words(POINTS)}\n1 3 -2 1 2 3 -4\n".encode()


def names():
    yield "session", (b"raw/sub-01/ses-a/anat/sub-01_ses-a_acq-x_run-1_T1w.nii.gz\ntpl-MNI_cohort-1_res-02_T1w.nii.gz\n"
                      b"sub-01_seg-a_desc-b_mask.nii.gz")
    yield "other", b"sub-01_space-x_desc-y_bold.nii\n../sub-02/anat/sub-02_T1w.nii.gz"
    yield "same", b"sub-01_T2w.nii\nsub-01_T1w.nii"
    yield "twice", b"sub-01_sub-02_T1w.nii\nMNI152_T1_1mm.nii.gz"
    yield "plain", b"sub-01_run-2_T1w.nii\nMNI152_T1_1mm.nii.gz\nlabels.nii"
    yield "long", b"sub-" + b"1" * 250 + b"_T1w.nii\n" + b"_-." * 99


def main():
    for make in volumes, mghs, nrrds, metas, mifs, ltas, itks, hdf5s, fnirts, transforms, surfaces, gradients, names:
        name = make.__name__ if make is gradients else make.__name__[:-1]
        folder = os.path.join(sys.argv[1], name)
        os.makedirs(folder, exist_ok=True)
        for seed, content in make():
            with open(os.path.join(folder, seed), "wb") as file:
                file.write(content)


main()
