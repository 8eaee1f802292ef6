# SPDX-License-Identifier: Apache-2.0
"""Interfaces and workflows of pipelines that call ANTs' programs, with clvox in their place: nipype's, niworkflows'
normalisation, whose composites nitransforms reads, smriprep's registration to a template, SDCFlows' SyN."""
import os
import shutil
import subprocess
import unittest

import nibabel
import numpy as np

import scene

# TemplateFlow's home is filled here, and nobody is asked over the network for newer versions.
os.environ.update(TEMPLATEFLOW_HOME=os.path.abspath("templateflow"), TEMPLATEFLOW_AUTOUPDATE="0", NO_ET="1")
try:
    import nipype
    import sdcflows.data
    from nipype.interfaces import ants
    from niworkflows.interfaces.fixes import FixHeaderRegistration
    from niworkflows.interfaces.norm import SpatialNormalization
    from nitransforms.manip import load
    from smriprep.workflows.fit.registration import init_register_template_wf
except ImportError:
    ants = None

PROGRAM = os.environ.get("CLVOX", "clvox")


@unittest.skipUnless(ants, "nipype, niworkflows, nitransforms, smriprep and sdcflows are not installed")
class Pipelines(unittest.TestCase):
    """Unchanged interfaces, small images."""

    @classmethod
    def setUpClass(cls):
        for kind in ("interface", "workflow"):  # standard output is TAP
            nipype.logging.getLogger("nipype." + kind).setLevel("ERROR")
        cls.folder = os.path.abspath("pipelines")
        os.makedirs(cls.folder)
        subprocess.run([PROGRAM, "ants", "--install", os.path.join(cls.folder, "bin")], check=True, capture_output=True)
        os.environ["PATH"] = os.path.join(cls.folder, "bin") + os.pathsep + os.environ["PATH"]
        os.environ["ANTSPATH"] = os.path.join(cls.folder, "bin") + os.sep

    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)

    def pair(self, fixed_name, moving_name):
        fixed, moving = scene.GRIDS[fixed_name], scene.GRIDS[moving_name]
        names = [os.path.join(self.folder, f"{n}.nii.gz") for n in ("fixed", "moving", "fixed_mask", "moving_mask")]
        fixed.write(names[0], scene.fixed_image(fixed))
        moving.write(names[1], scene.moving_image(moving))
        fixed.write(names[2], fixed.interior(3).astype(np.uint8))
        moving.write(names[3], moving.interior(3).astype(np.uint8))
        return names

    def check_map(self, composite, fixed):
        """At the centres of voxels, where interpolation does not matter."""
        image = nibabel.load(fixed)
        voxels = np.random.RandomState(1).randint(4, np.array(image.shape[:3]) - 4, (200, 3))
        points = nibabel.affines.apply_affine(image.affine, voxels)
        np.savetxt("points.csv", points * [-1, -1, 1], delimiter=",", header="x,y,z", comments="", fmt="%.9g")
        subprocess.run([PROGRAM, "apply", "--points", "points.csv", "-t", composite, "-o", "moved.csv", "-q"], check=True)
        ours = np.loadtxt("moved.csv", delimiter=",", skiprows=1)[:, :3] * [-1, -1, 1]
        theirs = np.asarray(load(composite, fmt="itk").map(points))
        self.assertGreater(np.abs(ours - points).mean(), 0.3)
        self.assertLess(np.abs(ours - theirs).max(), 1e-3)

    def normalise(self, flavor, kind, grids):
        fixed, moving, fixed_mask, moving_mask = self.pair(*grids)
        folder = f"{flavor}_{kind}"
        os.makedirs(folder)
        os.chdir(folder)
        found = SpatialNormalization(
            reference_image=fixed, moving_image=moving, reference_mask=fixed_mask, moving_mask=moving_mask, flavor=flavor,
            reference=kind, float=True, num_threads=2, explicit_masking=False).run().outputs
        self.assertTrue(os.path.exists(found.warped_image) and os.path.exists(found.inverse_composite_transform))
        self.check_map(found.composite_transform, fixed)

    def test_interfaces(self):
        """nipype's Registration in its three forms, ApplyTransforms, N4, DenoiseImage, SynQuick and AI find their outputs"""
        fixed, moving, mask, _ = self.pair("axial", "PSR")
        self.assertEqual(ants.Registration().version.split("+")[0], "2.6.0")
        stages = 3
        r = ants.Registration(
            fixed_image=fixed, moving_image=moving, initial_moving_transform_com=1, transforms=["Rigid", "Affine", "SyN"],
            transform_parameters=[(0.1,), (0.1,), (0.1, 3.0, 0.0)], number_of_iterations=[[20, 10]] * stages, dimension=3,
            metric=["Mattes", "Mattes", ["Mattes", "CC"]], metric_weight=[1, 1, [0.5, 0.5]],
            radius_or_number_of_bins=[32, 32, [32, 4]], sampling_strategy=["Regular", "Regular", [None, None]],
            sampling_percentage=[0.25, 0.25, [None, None]], convergence_threshold=[1e-6] * stages,
            convergence_window_size=[10] * stages, smoothing_sigmas=[[1, 0]] * stages, sigma_units=["vox"] * stages,
            shrink_factors=[[2, 1]] * stages, use_histogram_matching=[True] * stages, output_warped_image="w.nii.gz",
            output_inverse_warped_image="iw.nii.gz", winsorize_lower_quantile=0.005, winsorize_upper_quantile=0.995,
            fixed_image_masks=["NULL", "NULL", mask], write_composite_transform=False)
        found = r.run().outputs
        self.assertEqual(len(found.forward_transforms), 2)
        moved = ants.ApplyTransforms(input_image=moving, reference_image=fixed, transforms=found.forward_transforms[::-1],
                                     interpolation="Linear", dimension=3).run().outputs.output_image
        warped = nibabel.load(found.warped_image).get_fdata()
        self.assertLess(np.abs(nibabel.load(moved).get_fdata() - warped).max(), 1e-2 * np.ptp(warped))
        r.inputs.collapse_output_transforms = False
        found = r.run().outputs
        self.assertTrue(all(os.path.exists(f) for f in found.forward_transforms + found.reverse_transforms))
        r.inputs.write_composite_transform = True
        self.check_map(r.run().outputs.composite_transform, fixed)
        for one in (ants.N4BiasFieldCorrection(input_image=fixed, dimension=3, n_iterations=[5], convergence_threshold=1e-7,
                                               bspline_fitting_distance=200, save_bias=True, rescale_intensities=True),
                    ants.DenoiseImage(input_image=fixed, dimension=3, noise_model="Rician", save_noise=True),
                    ants.RegistrationSynQuick(fixed_image=fixed, moving_image=moving, transform_type="r"),
                    ants.AI(fixed_image=fixed, moving_image=moving, metric=("Mattes", 32, "Regular", 0.25),
                            transform=("Rigid", 0.1), search_factor=(20, 0.12))):
            one.run()  # looks for its outputs


    def test_smriprep(self):
        """smriprep's workflow from a T1w to a template of TemplateFlow, its map read by nitransforms"""
        fixed, moving, fixed_mask, moving_mask = self.pair("axial", "PSR")
        name = "tpl-MNI152NLin2009cAsym"
        home = os.path.join(os.environ["TEMPLATEFLOW_HOME"], name)
        os.makedirs(home, exist_ok=True)
        for source, end in ((fixed, "T1w"), (fixed, "T2w"), (fixed, "desc-brain_T1w"), (fixed_mask, "desc-brain_mask")):
            shutil.copy(source, os.path.join(home, f"{name}_res-02_{end}.nii.gz"))
        work = init_register_template_wf(sloppy=True, omp_nthreads=2, templates=[name[4:]])
        work.base_dir = os.path.join(self.folder, "smriprep")
        work.inputs.inputnode.moving_image, work.inputs.inputnode.moving_mask = moving, moving_mask
        found = [n.result.outputs for n in work.run(plugin="Linear").nodes() if n.name == "registration"][0]
        self.assertTrue(os.path.exists(found.inverse_composite_transform))
        self.check_map(found.composite_transform, fixed)

    def test_sdcflows(self):
        """SDCFlows' SyN along the phase encoding: two pairs by their weights, two stages with masks of their own"""
        grid = scene.GRIDS["axial"]
        place = grid.points() - scene.middle(grid)
        names = {n: os.path.join(self.folder, f"sdc_{n}.nii.gz") for n in ("epi", "fixed", "edges", "epi_edges", "mask")}
        shifted = place + np.array([0, 3, 0]) * np.exp(-(place ** 2).sum(-1) / 300)[..., None]
        for image, end in ((place, "fixed"), (shifted, "epi")):
            grid.write(names[end], scene.blobs(image).astype(np.float32))
            edges = np.linalg.norm(np.gradient(scene.blobs(image)), axis=0)
            grid.write(names["edges" if end == "fixed" else "epi_edges"], edges.astype(np.float32))
        grid.write(names["mask"], grid.interior(2).astype(np.uint8))
        os.makedirs("sdcflows")
        os.chdir("sdcflows")
        syn = FixHeaderRegistration(from_file=sdcflows.data.load("sd_syn_sloppy.json"))
        syn.inputs.fixed_image, syn.inputs.moving_image = [names["fixed"], names["edges"]], [names["epi"], names["epi_edges"]]
        syn.inputs.restrict_deformation = 2 * [[0.1, 1.0, 0.1]]
        syn.inputs.fixed_image_masks, syn.inputs.moving_image_masks = 2 * [names["mask"]], ["NULL", names["mask"]]
        syn.inputs.output_warped_image = True
        found = syn.run().outputs
        warp = nibabel.load(found.forward_transforms[0]).get_fdata().squeeze()
        along = np.abs(warp).mean((0, 1, 2))
        self.assertGreater(along[1], 2 * max(along[0], along[2]))
        want, was, warped = (nibabel.load(f).get_fdata() for f in (names["fixed"], names["epi"], found.warped_image))
        self.assertLess(np.abs(warped - want).mean(), 0.5 * np.abs(was - want).mean())


GRIDS = [("axial", "PSR"), ("sform only, oblique", "left-handed"), ("PSR", "oblique anisotropic")]
for at, pair_flavor in enumerate(("precise", "fast", "testing")):
    for pair_kind in ("T1w", "boldref"):
        def run(self, flavor=pair_flavor, kind=pair_kind, grids=GRIDS[at]):
            self.normalise(flavor, kind, grids)
        run.__doc__ = f"niworkflows' {pair_flavor} normalisation of {pair_kind}, read by nitransforms"
        setattr(Pipelines, f"test_{pair_flavor}_{pair_kind}", run)
