// SPDX-License-Identifier: Apache-2.0
// Reports a missing header with the package to install, before the compiler reports only that a file is not found.
// Include it first in every file that needs this header.
#pragma once

#if !__has_include(<nghttp2/nghttp2.h>)
#error "<nghttp2/nghttp2.h> is missing: install libnghttp2-dev (its name on Debian and Ubuntu)"
#endif
