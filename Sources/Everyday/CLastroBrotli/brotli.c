// SPDX-License-Identifier: Apache-2.0
// Swift calls libbrotlidec itself. A target needs a source.
#include "clastro_brotli.h"
