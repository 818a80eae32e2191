# SPDX-License-Identifier: Apache-2.0
"""Mutated HTTP answers against `lastro batch`, judged by a second reader. `README.md` tells the rest."""
