# SPDX-License-Identifier: Apache-2.0
"""Triangle meshes: reading, marching cubes, counts, and the distance between two of them."""
import nibabel
import numpy as np
import vtk
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from vtk.util import numpy_support

SAMPLES = 3000  # points on each surface that distances are measured from


class Mesh:
    """Vertices in mm and triangles that run counterclockwise seen from outside."""

    def __init__(self, vertices, faces):
        self.v = np.asarray(vertices, float)
        self.f = np.ascontiguousarray(faces, dtype=np.int64)
        if self.volume() < 0:
            self.f = np.ascontiguousarray(self.f[:, ::-1])

    def crosses(self):
        a, b, c = (self.v[self.f[:, i]] for i in range(3))
        return np.cross(b - a, c - a)

    def volume(self):
        a, b, c = (self.v[self.f[:, i]] for i in range(3))
        return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)

    def normals(self):
        """Unit normals of the triangles, and their areas."""
        n = self.crosses()
        length = np.linalg.norm(n, axis=1)
        return n / np.maximum(length, 1e-12)[:, None], length / 2

    def vertex_normals(self):
        n, sums = self.crosses(), np.zeros_like(self.v)
        for i in range(3):
            np.add.at(sums, self.f[:, i], n)
        return sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-12)[:, None]

    def edges(self):
        """Each edge once, and how many triangles have it."""
        every = np.concatenate([self.f[:, [0, 1]], self.f[:, [1, 2]], self.f[:, [2, 0]]])
        return np.unique(np.sort(every, axis=1), axis=0, return_counts=True)

    def parts(self):
        """Components, Euler characteristic, the component of each vertex; whether every edge has two triangles."""
        e, times = self.edges()
        link = coo_matrix((np.ones(len(e)), (e[:, 0], e[:, 1])), shape=(len(self.v),) * 2)
        label = connected_components(link, directed=False)[1]
        used = np.unique(self.f)
        return (len(np.unique(label[used])), len(used) - len(e) + len(self.f), label,
                bool(np.all(times == 2)))

    def largest(self):
        count, _, label, _ = self.parts()
        if count == 1:
            return self
        part = label[self.f[:, 0]]
        return Mesh(self.v, self.f[part == np.bincount(part).argmax()])

    def sample(self, count, seed):
        """Points spread by area, and the normals there."""
        random = np.random.default_rng(seed)
        n, area = self.normals()
        face = random.choice(len(self.f), count, p=area / area.sum())
        u = random.random((count, 2))
        u = np.where(u.sum(1, keepdims=True) > 1, 1 - u, u)
        a, b, c = (self.v[self.f[face, i]] for i in range(3))
        return a + u[:, :1] * (b - a) + u[:, 1:] * (c - a), n[face]

    def tree(self):
        if not hasattr(self, "_tree"):
            self._tree = cKDTree(self.v[self.f].mean(1))
        return self._tree


def read_mesh(path):
    if path.endswith(".gii"):
        arrays = nibabel.load(path).agg_data()
        return Mesh(arrays[0], arrays[1])
    reader = vtk.vtkPLYReader() if path.endswith(".ply") else vtk.vtkPolyDataReader()
    reader.SetFileName(path)
    reader.Update()
    return from_vtk(reader.GetOutput())


def write_mesh(path, mesh):
    """As PLY."""
    writer = vtk.vtkPLYWriter()
    writer.SetFileName(path)
    writer.SetInputData(to_vtk(mesh))
    writer.SetFileTypeToBinary()
    writer.Write()


def to_vtk(mesh):
    out, points, cells = vtk.vtkPolyData(), vtk.vtkPoints(), vtk.vtkCellArray()
    points.SetData(numpy_support.numpy_to_vtk(np.ascontiguousarray(mesh.v), deep=1))
    cells.SetData(3, numpy_support.numpy_to_vtkIdTypeArray(np.ascontiguousarray(mesh.f).ravel(), deep=1))
    out.SetPoints(points)
    out.SetPolys(cells)
    return out


def from_vtk(data):
    return Mesh(numpy_support.vtk_to_numpy(data.GetPoints().GetData()),
                numpy_support.vtk_to_numpy(data.GetPolys().GetConnectivityArray()).reshape(-1, 3))


def vtk_image(values):
    image = vtk.vtkImageData()
    image.SetDimensions(values.shape)
    image.GetPointData().SetScalars(numpy_support.numpy_to_vtk(values.ravel(order="F"), deep=1))
    return image


def marching_cubes(values, level, affine):
    """Where values cross the level, in world space."""
    filter_ = vtk.vtkFlyingEdges3D()
    filter_.SetInputData(vtk_image(np.asarray(values, np.float32)))
    filter_.SetValue(0, level)
    filter_.ComputeNormalsOff()
    filter_.Update()
    found = from_vtk(filter_.GetOutput())
    return Mesh(found.v @ affine[:3, :3].T + affine[:3, 3], found.f)


def nearest_on_triangles(p, a, b, c):
    """The points of the triangles nearest to p, all arrays of shape (..., 3) (Ericson 2005, 5.1.5)."""
    def dot(x, y):
        return np.einsum("...i,...i->...", x, y)
    ab, ac, ap, bp, cp = b - a, c - a, p - a, p - b, p - c
    d1, d2, d3, d4, d5, d6 = dot(ab, ap), dot(ac, ap), dot(ab, bp), dot(ac, bp), dot(ab, cp), dot(ac, cp)
    va, vb, vc = d3 * d6 - d5 * d4, d5 * d2 - d1 * d6, d1 * d4 - d3 * d2
    with np.errstate(all="ignore"):
        total = va + vb + vc
        v, w = vb / total, vc / total
        on_bc = (va <= 0) & (d4 - d3 >= 0) & (d5 - d6 >= 0)
        t = (d4 - d3) / ((d4 - d3) + (d5 - d6))
        v, w = np.where(on_bc, 1 - t, v), np.where(on_bc, t, w)
        on_ac = (vb <= 0) & (d2 >= 0) & (d6 <= 0)
        v, w = np.where(on_ac, 0, v), np.where(on_ac, d2 / (d2 - d6), w)
        on_ab = (vc <= 0) & (d1 >= 0) & (d3 <= 0)
        v, w = np.where(on_ab, d1 / (d1 - d3), v), np.where(on_ab, 0, w)
    for corner, (cv, cw) in (((d6 >= 0) & (d5 <= d6), (0, 1)), ((d3 >= 0) & (d4 <= d3), (1, 0)),
                             ((d1 <= 0) & (d2 <= 0), (0, 0))):
        v, w = np.where(corner, cv, v), np.where(corner, cw, w)
    v, w = np.nan_to_num(v), np.nan_to_num(w)
    return a + v[..., None] * ab + w[..., None] * ac


def distance_to(mesh, points, candidates=12):
    """The distance of each point from the mesh, and the triangle that is nearest."""
    distance, face = np.empty(len(points)), np.empty(len(points), int)
    for s in range(0, len(points), 4000):
        p = points[s:s + 4000]
        near = mesh.tree().query(p, k=min(candidates, len(mesh.f)))[1].reshape(len(p), -1)
        corners = mesh.v[mesh.f[near]]
        q = nearest_on_triangles(p[:, None], corners[:, :, 0], corners[:, :, 1], corners[:, :, 2])
        d = np.linalg.norm(q - p[:, None], axis=2)
        best = d.argmin(1)
        rows = np.arange(len(p))
        distance[s:s + 4000], face[s:s + 4000] = d[rows, best], near[rows, best]
    return distance, face


def angles(a, b):
    return np.degrees(np.arccos(np.clip(np.einsum("ij,ij->i", a, b), -1, 1)))


def measure(mesh, truth, unit=1.0):
    """Figures of a result beside the truth. Distances, in `unit` mm, are those of the largest component, both
    ways; components and Euler characteristic those of the whole."""
    count, euler, _, closed = mesh.parts()
    volume, mesh = mesh.volume(), mesh.largest()
    here, normal = mesh.sample(SAMPLES, 1)
    there, true_normal = truth.sample(SAMPLES, 2)
    d1, f1 = distance_to(truth, here)
    d2, f2 = distance_to(mesh, there)
    both = np.concatenate([d1, d2]) / unit
    angle = np.concatenate([angles(normal, truth.normals()[0][f1]), angles(true_normal, mesh.normals()[0][f2])])
    return {"rms": float(np.sqrt(np.mean(both ** 2))), "p95": float(np.percentile(both, 95)),
            "normal": float(angle.mean()), "volume": 100 * (volume / truth.volume() - 1),
            "components": count, "euler": euler, "closed": closed}
