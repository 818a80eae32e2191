// SPDX-License-Identifier: Apache-2.0
// Swift calls libzstd itself. A target needs a source.
#include "clastro_zstd.h"
