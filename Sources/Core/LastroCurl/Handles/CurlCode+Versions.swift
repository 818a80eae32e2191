// SPDX-License-Identifier: Apache-2.0

internal import CLastro

extension CurlCode {
  /// Maps a dial's result to that of libcurl 7.88. Versions return different results for the same cause.
  static func common(
    _ code: CURLcode, isProxied: Bool, hasClientCertificate: Bool, facts: clastro_facts
  ) -> CURLcode {
    switch code {
    case CURLE_COULDNT_CONNECT where isProxied && facts.connect_code >= 300:  // 8.23: CONNECT was refused
      CURLE_RECV_ERROR
    case CURLE_BAD_FUNCTION_ARGUMENT where hasClientCertificate:  // 8.23: its key
      CURLE_SSL_CERTPROBLEM
    default: code
    }
  }
}
