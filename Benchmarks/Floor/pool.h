// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "arguments.h"
#include "loop.h"

// Easy handles that fetch bodies into memory, each reused for one request after the other.
struct pool;

struct pool *pool_new(struct loop *loop, const struct arguments *arguments, long handles);
void pool_free(struct pool *pool);

// Sets an option of all handles.
void pool_set(struct pool *pool, CURLoption option, long value);

// GETs `url` `requests` times with all handles in flight. Every answer has to be a 200 of `size` bytes.
// Returns how many bytes of bodies came.
long long pool_fetch(struct pool *pool, const char *url, long requests);
