// SPDX-License-Identifier: Apache-2.0
// Reports missing headers with the package to install, before the compiler reports only that a file is not found.
// Include it first in every file that needs these headers.
#pragma once

#if !__has_include(<openssl/ssl.h>)
#error "<openssl/ssl.h> is missing: install libssl-dev (its name on Debian and Ubuntu)"
#endif
#if !__has_include(<nghttp2/nghttp2.h>)
#error "<nghttp2/nghttp2.h> is missing: install libnghttp2-dev (its name on Debian and Ubuntu)"
#endif
