// SPDX-License-Identifier: Apache-2.0
// libzstd. Its functions for an own allocator are declared for those who ask for them; the shared library exports them.
#ifndef CLASTRO_ZSTD_H
#define CLASTRO_ZSTD_H

#if !__has_include(<zstd.h>)
#error "<zstd.h> is missing: install libzstd-dev (its name on Debian and Ubuntu)"
#endif

#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#endif
