// SPDX-License-Identifier: Apache-2.0
// libcurl and OpenSSL, functions for their parts that Swift cannot import (variadic calls, macros), and socket options
// of the kernel. The functions have a fixed number of arguments and report facts; every decision is made in Swift.
#pragma once

#if !__has_include(<curl/curl.h>)
#error "<curl/curl.h> is missing: install libcurl4-openssl-dev (its name on Debian and Ubuntu)"
#endif
#if !__has_include(<openssl/ssl.h>)
#error "<openssl/ssl.h> is missing: install libssl-dev (its name on Debian and Ubuntu)"
#endif

#include <curl/curl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clastro_curl.h"
#include "clastro_self_check.h"
#include "clastro_socket.h"
#include "clastro_stream.h"
#include "clastro_tls.h"
