# SPDX-License-Identifier: Apache-2.0
"""Parts of bench/accuracy.py: what is measured, with which tools, on which pairs."""
