# SPDX-License-Identifier: Apache-2.0
"""Lastro's readers beside those of others."""
