// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include "arguments.h"

// A handle with what every request of this program wants; its URL and its body are the caller's.
CURL *easy_new(const struct arguments *arguments);

// Fails unless the transfer ended well with status 200.
void easy_check(CURL *easy, CURLcode result);
