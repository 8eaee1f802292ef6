# SPDX-License-Identifier: Apache-2.0
"""Boutiques and nipype take the descriptors that the build makes of the options."""
import glob
import importlib.util
import os
import subprocess
import sys
import unittest

import tools

BUILD = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(tools.PROGRAM)), "../.."))
DESCRIPTORS = sorted(glob.glob(os.path.join(BUILD, "doc/clvox-*.json")))


def there(module):
    return importlib.util.find_spec(module) is not None


class Descriptors(unittest.TestCase):
    def setUp(self):
        if not DESCRIPTORS:
            self.skipTest("the program does not lie where it was built")

    @unittest.skipUnless(there("boutiques"), "there is no boutiques")
    def test_boutiques_validates(self):
        """bosh validates the descriptor of every verb, and makes the command line"""
        for path in DESCRIPTORS:
            with self.subTest(path):
                run = subprocess.run([sys.executable, "-c", "import boutiques, sys; boutiques.bosh(sys.argv[1:])", "validate", path],
                                     capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, 0, run.stderr)
        with open("one.json", "w", encoding="utf-8") as file:
            file.write('{"fixed": ["a.nii", "b.nii"], "moving": ["c.nii", "d.nii"], "output": "o/p", "quick": true, "threads": 2}')
        run = subprocess.run([sys.executable, "-c", "import boutiques, sys; boutiques.bosh(sys.argv[1:])", "exec", "simulate", "-i",
                              "one.json", os.path.join(BUILD, "doc/clvox-register.json")], capture_output=True, text=True, check=False)
        line = " ".join(run.stdout.split())
        self.assertIn("clvox register --fixed a.nii --fixed b.nii --moving c.nii --moving d.nii --output o/p", line, run.stderr)
        self.assertIn("--quick", line)

    @unittest.skipUnless(there("nipype"), "there is no nipype")
    def test_nipype_runs(self):
        """nipype runs verbs, whose outputs are the files that they wrote"""
        os.makedirs("nipype", exist_ok=True)
        tools.clvox("phantom", "pair", "-o", "nipype/p", "--size", "17x16x13", "-q")
        script = """
import os, pickle
os.chdir("nipype")
from clvox.nipype import FilterN4, Register
n4 = FilterN4(in_file="p_moving.nii.gz", output="n4.nii.gz").run()
assert n4.outputs.output_file == os.path.abspath("n4.nii.gz"), n4.outputs
node = Register(fixed=["p_fixed.nii.gz"], moving=["n4.nii.gz"], output="r", quick=True, shrink="2x1", iterations="3x3", strict=False)
assert node.cmdline.startswith("clvox register --fixed p_fixed.nii.gz --moving n4.nii.gz") or "--fixed" in node.cmdline, node.cmdline
found = node.run().outputs
assert found.warp_file == os.path.abspath("r_warp.nii.gz") and os.path.exists(found.warp_file), found
assert os.path.abspath("r.png") in found.files, found
assert type(pickle.loads(pickle.dumps(node))) is Register
try:
    Register(deform="sin")
    raise SystemExit("a wrong choice was taken")
except Exception as error:
    assert "deform" in str(error), error
"""
        env = {**os.environ, "PYTHONPATH": os.path.join(BUILD, "src/python"), "CLVOX_DESCRIPTORS": os.path.join(BUILD, "doc"),
               "PATH": os.path.dirname(os.path.abspath(tools.PROGRAM)) + os.pathsep + os.environ["PATH"]}
        run = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
