// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.h"
#include "measure.h"

// Each makes its loop, warms it up, and measures.
struct result run_fetch(const struct arguments *arguments);
struct result run_handshakes(const struct arguments *arguments);
struct result run_idle(const struct arguments *arguments);
struct result run_cancel(const struct arguments *arguments);
struct result run_download(const struct arguments *arguments);
struct result run_upload(const struct arguments *arguments);
