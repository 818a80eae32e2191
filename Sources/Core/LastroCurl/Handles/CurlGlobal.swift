// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// The result of `curl_global_init`, which is called once per process. The call is thread-safe because of Swift's
/// `static let`, and because of this build of libcurl (`CURL_VERSION_THREADSAFE`). libcurl does not see
/// `SSLKEYLOGFILE`: it would create the file, or write to the target of a symbolic link of that name.
enum CurlGlobal {
  static let isReady: Bool = clastro_global_init() == CURLE_OK
}
