// SPDX-License-Identifier: Apache-2.0
#include "required_headers.h"

#include <openssl/crypto.h>

// Keeps OpenSSL from freeing its memory when the process exits. Event loops may still use it then, and a process that
// exits without shutting down its engines would crash. OpenSSL registers its exit handler once, at its first use, so
// this call must come first (OPENSSL_init_crypto(3), OPENSSL_INIT_NO_ATEXIT). The kernel frees the memory with the
// process.
__attribute__((constructor)) static void keep_openssl_through_exit(void) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
