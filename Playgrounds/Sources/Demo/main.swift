// SPDX-License-Identifier: Apache-2.0

import Glibc
import LastroCurl

// Fails until there are steps to show: a demo that shows nothing must not pass.
print("libcurl \(CurlCapabilities.current.curlVersion), \(CurlCapabilities.current.tlsBackend)")
print("The demo has no steps yet.")
exit(1)
