# SPDX-License-Identifier: Apache-2.0
"""NiReports collects the figures of clvox bids."""
import importlib.util
import os
import pathlib
import shutil
import unittest

import tools

BOOTSTRAP = """package: clvox
sections:
- name: Registration
  reportlets:
  - bids: {datatype: figures, suffix: T1w, space: MNI, extension: [.svg]}
"""


class Reports(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("nireports"), "there is no nireports")
    def test_figures_are_collected(self):
        """NiReports finds the figure of a registration among the derivatives and shows it in its report"""
        from nireports.assembler.report import Report
        for folder in ("apps/raw/sub-01/anat", "apps/tpl", "apps/report"):
            os.makedirs(folder)
        tools.clvox("phantom", "pair", "-o", "apps/p", "--size", "17x16x13", "-q")
        shutil.copy("apps/p_moving.nii.gz", "apps/raw/sub-01/anat/sub-01_T1w.nii.gz")
        shutil.copy("apps/p_fixed.nii.gz", "apps/tpl/tpl-MNI_T1w.nii.gz")
        tools.clvox("bids", "apps/raw", "apps/out", "participant", "--template", "apps/tpl/tpl-MNI_T1w.nii.gz", "--quick",
                    "--linear", "rigid", "--shrink", "2", "--iterations", "3", "-q")
        bootstrap = pathlib.Path("apps/bootstrap.yml")
        bootstrap.write_text(BOOTSTRAP, encoding="utf-8")
        report = Report(pathlib.Path("apps/report"), "run", bootstrap_file=bootstrap, reportlets_dir=pathlib.Path("apps/out"),
                        subject="01")
        report.generate_report()
        figure = "sub-01/figures/sub-01_space-MNI_T1w.svg"
        self.assertIn(figure, pathlib.Path("apps/report/sub-01.html").read_text(encoding="utf-8"))
        self.assertTrue(os.path.exists(os.path.join("apps/report", figure)))
