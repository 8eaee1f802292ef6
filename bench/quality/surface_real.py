# SPDX-License-Identifier: Apache-2.0
"""Surfaces of real segmentations before and after, as figures and as a picture."""
import os
import subprocess

import numpy as np
import vtk

from .surface_mesh import angles, read_mesh, to_vtk

SURFACES = {"hippocampus": "bert_lh_hippocampus.ply", "lateral ventricle": "bert_lh_lateral_ventricle.ply",
            "white matter": "bert_lh_wm.ply", "right hippocampus": "bert_rh_hippocampus.ply",
            "thalamus": "bert_lh_thalamus.ply", "swm, hippocampus": "swm_lh_hippocampus.ply",
            "swm, lateral ventricle": "swm_lh_lateral_ventricle.ply", "swm, white matter": "swm_lh_wm.ply",
            "swm, right hippocampus": "swm_rh_hippocampus.ply", "swm, thalamus": "swm_lh_thalamus.ply"}
PICTURED = 3  # the first of them
# Comparing all patches of the white matter takes two cores half an hour.
LARGE, NEARBY = {"white matter", "swm, white matter"}, ["--search", "radius"]


def bend(mesh):
    """Mean angle between triangles that share an edge."""
    ends = np.sort(np.concatenate([mesh.f[:, [0, 1]], mesh.f[:, [1, 2]], mesh.f[:, [2, 0]]]), axis=1)
    face = np.tile(np.arange(len(mesh.f)), 3)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    same = np.all(ends[order][1:] == ends[order][:-1], axis=1)
    normals = mesh.normals()[0]
    return float(angles(normals[face[order][:-1][same]], normals[face[order][1:][same]]).mean())


def rows(o):
    out, pairs = [], []
    for name, file in SURFACES.items():
        source = os.path.join(o.data, "surf_derived", file)
        result = os.path.join(o.out, "real_" + file)
        if not os.path.exists(source):
            out.append({"surface": name, "note": "not there"})
            continue
        words = [word for text in o.clvox_option for word in text.split()]
        words += NEARBY if name in LARGE else []
        if not os.path.exists(result) or "clvox" in o.renew:
            run = subprocess.run([o.clvox, "surface", "denoise", source, "-o", result, "-q", *words],
                                 capture_output=True, text=True, check=False)
            if run.returncode:
                out.append({"surface": name, "note": run.stderr.strip()})
                continue
        before, after = read_mesh(source), read_mesh(result)
        b, a = before.parts(), after.parts()
        out.append({"surface": name, "faces": [len(before.f), len(after.f)], "components": [b[0], a[0]],
                    "euler": [b[1], a[1]], "closed": a[3],
                    "volume": 100 * (after.volume() / before.volume() - 1), "bend": [bend(before), bend(after)]})
        if len(out) <= PICTURED:
            pairs.append((before, after))
    if o.picture and pairs:
        picture(pairs, o.picture)
    return out


def picture(pairs, path, edge=520):
    """One row a surface: before, after; flat shading, so that steps show."""
    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(0)
    window.SetSize(2 * edge, len(pairs) * edge * 3 // 4)
    for row, pair in enumerate(pairs):
        camera = None
        for column, mesh in enumerate(pair):
            mapper, actor, renderer = vtk.vtkPolyDataMapper(), vtk.vtkActor(), vtk.vtkRenderer()
            mapper.SetInputData(to_vtk(mesh))
            actor.SetMapper(mapper)
            shade = actor.GetProperty()
            shade.SetColor(0.86, 0.80, 0.72)
            shade.SetInterpolationToFlat()
            shade.SetAmbient(0.12)
            shade.SetDiffuse(0.85)
            renderer.AddActor(actor)
            renderer.SetBackground(1, 1, 1)
            height = 1 / len(pairs)
            renderer.SetViewport(column / 2, 1 - (row + 1) * height, (column + 1) / 2, 1 - row * height)
            window.AddRenderer(renderer)
            if camera is None:
                camera = renderer.GetActiveCamera()
                camera.SetPosition(-1, -0.35, 0.3)  # from the left
                camera.SetFocalPoint(0, 0, 0)
                camera.SetViewUp(0, 0, 1)
                renderer.ResetCamera()
                camera.Zoom(1.22)
            else:
                renderer.SetActiveCamera(camera)
            renderer.ResetCameraClippingRange()
    window.Render()
    grab, writer = vtk.vtkWindowToImageFilter(), vtk.vtkPNGWriter()
    grab.SetInput(window)
    grab.ReadFrontBufferOff()
    writer.SetInputConnection(grab.GetOutputPort())
    writer.SetFileName(path)
    writer.Write()
