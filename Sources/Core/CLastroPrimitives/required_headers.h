// SPDX-License-Identifier: Apache-2.0
// Said before a compiler says only that a file is not found. Comes first in every file that needs these.
#pragma once

#if !__has_include(<openssl/evp.h>)
#error "<openssl/evp.h> is missing: install libssl-dev (its name on Debian and Ubuntu)"
#endif
