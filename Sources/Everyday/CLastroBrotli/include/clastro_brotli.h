// SPDX-License-Identifier: Apache-2.0
// libbrotlidec.
#ifndef CLASTRO_BROTLI_H
#define CLASTRO_BROTLI_H

#if !__has_include(<brotli/decode.h>)
#error "<brotli/decode.h> is missing: install libbrotli-dev (its name on Debian and Ubuntu)"
#endif

#include <brotli/decode.h>

#endif
