// SPDX-License-Identifier: Apache-2.0
// Said before a compiler says only that a file is not found. Comes first in every file that needs it.
#pragma once

#if !__has_include(<nghttp2/nghttp2.h>)
#error "<nghttp2/nghttp2.h> is missing: install libnghttp2-dev (its name on Debian and Ubuntu)"
#endif
