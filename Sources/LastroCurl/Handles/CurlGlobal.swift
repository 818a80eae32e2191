// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// `curl_global_init`, once a process. This build of libcurl makes it thread-safe (`CURL_VERSION_THREADSAFE`), and so
/// does a Swift `static let`.
enum CurlGlobal {
  static let isReady: Bool = curl_global_init(3) == CURLE_OK  // CURL_GLOBAL_ALL is a macro over SSL (1) and WIN32 (2)
}
