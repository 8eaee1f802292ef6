# SPDX-License-Identifier: Apache-2.0
"""libclvox as a Python program calls it: arrays in host memory in, arrays in host memory out."""
import ctypes as c

import numpy as np


class Grid(c.Structure):
    _fields_ = [("size", c.c_int * 3), ("to_ras", (c.c_double * 4) * 4)]


class Volume(c.Structure):
    _fields_ = [("grid", Grid), ("frames", c.c_int), ("kind", c.c_int), ("type", c.c_int),
                ("frame_seconds", c.c_double), ("data", c.POINTER(c.c_float))]


class Transform(c.Structure):
    _fields_ = [("is_warp", c.c_int), ("matrix", (c.c_double * 4) * 4), ("warp", c.POINTER(Volume))]


class Link(c.Structure):
    _fields_ = [("transform", c.POINTER(Transform)), ("inverse", c.c_int)]


class Summary(c.Structure):
    _fields_ = [("range", c.c_double * 4), ("folded", c.c_long), ("voxels", c.c_long)]


class Gradients(c.Structure):
    _fields_ = [("count", c.c_int), ("b", c.POINTER(c.c_double)), ("direction", c.POINTER(c.c_double))]


class Fit(c.Structure):
    _fields_ = [("tensor", c.POINTER(Volume)), ("s0", c.POINTER(Volume)), ("sigma", c.POINTER(Volume)),
                ("noise", c.POINTER(Volume)), ("scan_noise", c.POINTER(Volume)),
                ("scan", c.POINTER(Volume)), ("medians", c.c_double * 2), ("volumes", c.c_int),
                ("counts", c.c_size_t * 8), ("seconds", c.c_double * 2)]


class Denoise(c.Structure):
    _fields_ = [("size", c.c_size_t), ("model", c.c_int), ("reweight", c.c_int), ("bregman", c.c_int),
                ("lam", c.c_double), ("iterations", c.c_int), ("tolerance", c.c_double),
                ("progress", c.c_void_p), ("user", c.c_void_p)]


class Denoised(c.Structure):
    _fields_ = [("tensor", c.POINTER(Volume)), ("sigma", c.c_double), ("guessed", c.c_int), ("lam", c.c_double),
                ("energy", c.c_double * 2), ("gap", c.c_double), ("iterations", c.c_int), ("rest", c.c_double * 32)]


SCALAR, DISPLACEMENT, TENSOR, LINEAR = 0, 2, 4, 2


class Library:
    def __init__(self, path, device):
        self.lib = c.CDLL(path)
        self.lib.clvox_message.restype = c.c_char_p
        self.lib.clvox_version.restype = c.c_char_p
        self.context = c.c_void_p()
        options = (c.c_char * 64)()  # all zero but the device, which comes first
        c.cast(options, c.POINTER(c.c_char_p))[0] = device.encode() if device else None
        self.check(self.lib.clvox_context_create(options, c.byref(self.context)))

    def check(self, status):
        if status < 0:
            raise RuntimeError(self.lib.clvox_message().decode())

    def volume(self, array, kind=SCALAR, to_ras=None):
        """array: [frame,] z, y, x of float32."""
        v = Volume(frames=array.shape[0] if array.ndim == 4 else 1, kind=kind)
        for a in range(3):
            v.grid.size[a] = array.shape[-1 - a]
        for i in range(4):
            for j in range(4):
                v.grid.to_ras[i][j] = float(i == j) if to_ras is None else float(to_ras[i][j])
        assert array.dtype == np.float32 and array.flags.c_contiguous
        v.array = array  # kept as long as the volume
        v.data = array.ctypes.data_as(c.POINTER(c.c_float))
        return v

    def take(self, pointer):
        """A copy of a volume's values; the volume is released."""
        v = pointer.contents
        shape = (v.frames, v.grid.size[2], v.grid.size[1], v.grid.size[0])
        values = np.ctypeslib.as_array(v.data, shape).copy()
        self.lib.clvox_volume_destroy(c.byref(pointer))
        return values[0] if shape[0] == 1 else values

    def release(self, pointer):
        self.lib.clvox_volume_destroy(c.byref(pointer))

    def gaussian(self, volume, sigma):
        out = c.POINTER(Volume)()
        self.check(self.lib.clvox_filter_gaussian(self.context, c.byref(volume), (c.c_double * 3)(*[sigma] * 3), 1,
                                                  c.byref(out)))
        return out

    def sobel(self, volume):
        out = c.POINTER(Volume)()
        self.check(self.lib.clvox_filter_sobel(self.context, c.byref(volume), c.byref(out)))
        return out

    def warp(self, volume, field):
        transform = Transform(is_warp=1, warp=c.pointer(field))
        link, out = Link(transform=c.pointer(transform)), c.POINTER(Volume)()
        self.check(self.lib.clvox_apply(self.context, c.byref(volume), c.byref(volume.grid), c.byref(link), 1, LINEAR,
                                        c.c_float(0), c.byref(out)))
        return out

    def jacobian(self, field):
        out, summary = c.POINTER(Volume)(), Summary()
        self.check(self.lib.clvox_jacobian(self.context, c.byref(field), None, 0, c.byref(out), c.byref(summary)))
        return out

    def fit(self, volume, gradients, mask):
        out = Fit()
        self.check(self.lib.clvox_tensor_fit(self.context, c.byref(volume), gradients, c.byref(mask), None,
                                             c.byref(out)))
        tensor = c.pointer(out.tensor.contents)
        out.tensor = c.POINTER(Volume)()
        self.lib.clvox_tensor_fit_result_destroy(c.byref(out))
        return tensor

    def variation(self, tensor, lam):
        """Plain total variation: one round, no Bregman iterations. lam: per 1e-3 mm^2/s."""
        options, out = Denoise(), Denoised()
        self.lib.clvox_tensor_denoise_defaults(c.byref(options))
        options.reweight, options.bregman, options.lam = 0, 1, lam
        self.check(self.lib.clvox_tensor_denoise(self.context, c.byref(tensor), None, None, c.byref(options),
                                                 c.byref(out)))
        return c.pointer(out.tensor.contents)

    def gradients(self, bval, bvec, grid, count):
        out = c.POINTER(Gradients)()
        self.check(self.lib.clvox_gradients_read_fsl(bval.encode(), bvec.encode(), c.byref(grid), count, c.byref(out)))
        return out
