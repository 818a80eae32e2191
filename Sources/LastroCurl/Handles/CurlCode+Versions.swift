// SPDX-License-Identifier: Apache-2.0

internal import CLastro

#if canImport(Glibc)
  internal import Glibc
#endif

extension CurlCode {
  /// How far an exchange had come when libcurl ended it.
  struct Standing {
    var isProxied = false
    var requestSent = false
    /// Whether the whole request, with its body, was handed to libcurl.
    var hasSentAll = false
    var hasHead = false
    /// Whether the server ended the connection.
    var isEndedByPeer = false
    var hasClientCertificate = false
  }

  /// libcurl allows so much for all heads of a transfer together (`MAX_HTTP_RESP_HEADER_SIZE`, CVE-2023-38039).
  private static let mostHeadBytes = 300 * 1024

  /// Versions of libcurl give different results for the same thing. This is the one that 7.88 gives.
  static func common(_ code: CURLcode, _ standing: Standing, facts: clastro_facts) -> CURLcode {
    let refusesTunnel = standing.isProxied && !standing.requestSent && facts.connect_code >= 300
    switch code {
    case CURLE_COULDNT_CONNECT where refusesTunnel:  // 8.23
      return CURLE_RECV_ERROR
    case CURLE_BAD_FUNCTION_ARGUMENT where standing.hasClientCertificate && !standing.requestSent:  // 8.23: its key
      return CURLE_SSL_CERTPROBLEM
    case CURLcode(rawValue: UInt32(CLASTRO_CURLE_TOO_LARGE)) where standing.requestSent:  // 8.6
      return CURLE_OUT_OF_MEMORY
    case CURLE_RECV_ERROR where !standing.hasHead && facts.header_size > mostHeadBytes:  // 8.3, and Debian's 7.88
      return CURLE_OUT_OF_MEMORY
    // 8.0 on, over HTTP/2, of a connection that its server has ended.
    case CURLE_HTTP2 where standing.isEndedByPeer:
      return CURLE_PARTIAL_FILE
    case CURLE_SEND_ERROR where standing.hasSentAll && (standing.hasHead || isBySilentEnd(standing, facts)):
      return CURLE_PARTIAL_FILE
    default:
      return code
    }
  }

  /// Whether the server just ended the connection, and no write of ours met a reset.
  private static func isBySilentEnd(_ standing: Standing, _ facts: clastro_facts) -> Bool {
    standing.isEndedByPeer && ![Int(EPIPE), Int(ECONNRESET)].contains(facts.os_errno)
  }
}
