# SPDX-License-Identifier: Apache-2.0
"""The methods that surfaces are smoothed with, each over a range of its parameter."""
import numpy as np
import vtk
from scipy import ndimage
from scipy.sparse import coo_matrix, diags

from .surface_mesh import Mesh, from_vtk, marching_cubes, to_vtk, vtk_image


def averaging(mesh):
    """The matrix that replaces each vertex by the mean of its neighbours."""
    e, _ = mesh.edges()
    both = np.concatenate([e, e[:, ::-1]])
    link = coo_matrix((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(len(mesh.v),) * 2).tocsr()
    return diags(1 / np.maximum(np.asarray(link.sum(1)).ravel(), 1)) @ link


def laplacian(case, steps=(1, 2, 4, 8), rate=0.5):
    mesh, mean = case.mesh, averaging(case.mesh)
    v = mesh.v
    for i in range(1, max(steps) + 1):
        v = v + rate * (mean @ v - v)
        if i in steps:
            yield f"{i} steps", Mesh(v, mesh.f)


def taubin(case, rate=0.5):
    """Taubin 1995; the pass band is .1, and .03 for many steps."""
    mesh, mean = case.mesh, averaging(case.mesh)
    for band, steps in ((0.1, (10, 20, 40)), (0.03, (20, 60))):
        v, back = mesh.v, 1 / (band - 1 / rate)
        for i in range(1, max(steps) + 1):
            v = v + rate * (mean @ v - v)
            v = v + back * (mean @ v - v)
            if i in steps:
                yield f"band {band}, {i} steps", Mesh(v, mesh.f)


def windowed_sinc(case, bands=(0.15, 0.08, 0.04, 0.02, 0.008)):
    for band in bands:
        f = vtk.vtkWindowedSincPolyDataFilter()
        f.SetInputData(to_vtk(case.mesh))
        f.SetNumberOfIterations(30)
        f.SetPassBand(band)
        f.NormalizeCoordinatesOn()
        f.BoundarySmoothingOff()
        f.FeatureEdgeSmoothingOff()
        f.NonManifoldSmoothingOn()
        f.Update()
        yield f"band {band}", Mesh(from_vtk(f.GetOutput()).v, case.mesh.f)


def surface_nets(case, ways=((3, 0.3), (8, 0.3), (16, 0.5))):
    """Gibson 1998, as in vtkSurfaceNets3D; of masks."""
    if case.mask is None:
        return
    for steps, rate in ways:
        f = vtk.vtkSurfaceNets3D()
        f.SetInputData(vtk_image(case.mask.astype(np.uint8)))
        f.SetValue(0, 1)
        f.SetOutputMeshTypeToTriangles()
        f.SmoothingOn()
        f.GetSmoother().SetNumberOfIterations(steps)
        f.GetSmoother().SetRelaxationFactor(rate)
        f.Update()
        found = from_vtk(f.GetOutput())
        yield f"{steps} steps of {rate}", Mesh(found.v @ case.affine[:3, :3].T + case.affine[:3, 3], found.f)


WIDTHS = (0.5, 0.75, 1.0, 1.4)


def gaussian_of_mask(case):
    if case.mask is None:
        return
    for width in WIDTHS:
        yield f"{width} voxels", marching_cubes(
            -ndimage.gaussian_filter(case.mask.astype(np.float32), width), -0.5, case.affine)


def gaussian_of_distance(case):
    for width in WIDTHS:
        yield f"{width} voxels", marching_cubes(ndimage.gaussian_filter(case.distance(), width), 0, case.affine)


def touching(faces):
    """Pairs of triangles that share a vertex."""
    n = len(faces)
    has = coo_matrix((np.ones(3 * n), (np.repeat(np.arange(n), 3), faces.ravel())),
                     shape=(n, faces.max() + 1)).tocsr()
    pairs = (has @ has.T).tocoo()
    other = pairs.row != pairs.col
    return pairs.row[other], pairs.col[other]


def bilateral_normals(case, widths=(0.25, 0.35, 0.5, 0.7), rounds=(5, 15), steps=10):
    """Zheng et al. 2011, the local, iterative scheme: normals are averaged over triangles that touch, weighted
    by area, distance of centroids and likeness of normals; then vertices follow the normals (Sun et al. 2007)."""
    v, f = case.mesh.v, case.mesh.f
    i, j = touching(f)
    start, area = case.mesh.normals()
    centre = v[f].mean(1)
    apart = np.linalg.norm(centre[i] - centre[j], axis=1)
    near = np.exp(-apart ** 2 / (2 * apart.mean() ** 2)) * area[j]
    count = np.maximum(np.bincount(f.ravel(), minlength=len(v)), 1)
    for width in widths:
        n = start.copy()
        for turn in range(1, max(rounds) + 1):
            w = near * np.exp(-((n[i] - n[j]) ** 2).sum(1) / (2 * width ** 2))
            sums = np.stack([np.bincount(i, w * n[j, k], len(f)) for k in range(3)], 1)
            length = np.linalg.norm(sums, axis=1)
            n = np.where(length[:, None] > 1e-12, sums / np.maximum(length, 1e-12)[:, None], n)
            if turn in rounds:
                yield f"width {width}, {turn} rounds", follow(v, f, n, count, steps)


def follow(v, f, normals, count, steps):
    """Moves vertices so that the triangles take these normals."""
    for _ in range(steps):
        centre, move = v[f].mean(1), np.zeros_like(v)
        for k in range(3):
            part = np.einsum("ij,ij->i", centre - v[f[:, k]], normals)[:, None] * normals
            for axis in range(3):
                move[:, axis] += np.bincount(f[:, k], part[:, axis], len(v))
        v = v + move / count[:, None]
    return Mesh(v, f)


PEERS = {"Laplacian": laplacian, "Taubin": taubin, "windowed sinc": windowed_sinc,
         "surface nets": surface_nets, "Gaussian of mask": gaussian_of_mask,
         "Gaussian of distance": gaussian_of_distance, "bilateral normals": bilateral_normals}
