# SPDX-License-Identifier: Apache-2.0
"""Records of `clvox bench` beside one another: read, matched row by row, as tables and as a page with plots.
Of the standard library alone, for Python from 3.9 on."""
