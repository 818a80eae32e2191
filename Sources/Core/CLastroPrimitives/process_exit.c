// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <openssl/crypto.h>

// OpenSSL frees what it holds when the process exits, while event loops may still use it: a process that ends without
// shutting its engines down would crash on its way out. It asks for that once, at its first use, so this has to come
// before (OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT). The memory goes with the process.
__attribute__((constructor)) static void keep_openssl_through_exit(void) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
