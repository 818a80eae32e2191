// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// `curl_global_init`, once a process. This build of libcurl makes it thread-safe (`CURL_VERSION_THREADSAFE`), and so
/// does a Swift `static let`. libcurl does not see `SSLKEYLOGFILE`: it would create the file, or write to the one that
/// a symbolic link of that name leads to.
enum CurlGlobal {
  static let isReady: Bool = clastro_global_init(Int(CLASTRO_GLOBAL_ALL)) == CURLE_OK
}
