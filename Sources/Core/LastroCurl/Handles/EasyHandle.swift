// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Glibc

/// Owns one easy handle, which serves one dial and its connection. libcurl keeps state in a handle that neither its
/// next use nor `curl_easy_reset` clears. It is used only on the loop's thread, and freed with the object.
final class EasyHandle {
  let raw: UnsafeMutableRawPointer
  /// The TLS sessions that are shared with other handles.
  private(set) var sessions: SessionShare?

  init?() {
    guard CurlGlobal.isReady, let raw = curl_easy_init() else { return nil }
    self.raw = raw
  }

  deinit { curl_easy_cleanup(raw) }

  /// Uses the shared TLS sessions for resumption, and adds new ones to them.
  func use(_ sessions: SessionShare) {
    self.sessions = sessions
    set(CURLOPT_SHARE, pointer: sessions.raw)
  }

  @discardableResult
  func set(_ option: CURLoption, _ value: Int) -> CURLcode { clastro_set_long(raw, option, value) }

  /// Sets a string option. libcurl copies the string.
  @discardableResult
  func set(_ option: CURLoption, _ value: String) -> CURLcode {
    value.withCString { clastro_set_ptr(raw, option, $0) }
  }

  @discardableResult
  func set(_ option: CURLoption, pointer: UnsafeRawPointer?) -> CURLcode { clastro_set_ptr(raw, option, pointer) }

  @discardableResult
  func set(_ option: CURLoption, blob bytes: [UInt8]) -> CURLcode {
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return CURLE_BAD_FUNCTION_ARGUMENT }
      var blob = curl_blob(
        data: UnsafeMutableRawPointer(mutating: base), len: buffer.count, flags: UInt32(CURL_BLOB_COPY))
      return clastro_set_ptr(raw, option, &blob)
    }
  }

  /// The socket of the connection; -1 if there is none.
  var socket: curl_socket_t {
    var socket = CURL_SOCKET_BAD
    clastro_get(raw, CURLINFO_ACTIVESOCKET, &socket)
    return socket
  }

  /// The latest errno of the connection; 0 if there was none. A success does not clear it.
  var systemCode: Int32 {
    var code = 0
    clastro_get(raw, CURLINFO_OS_ERRNO, &code)
    return Int32(truncatingIfNeeded: code)
  }

  /// Whether TLS holds bytes of the connection that were not returned by a read: a record, or the beginning of one. It
  /// is valid only in a callback of the transfer, and after `curl_easy_recv` or `curl_easy_send`.
  var holdsInput: Bool { clastro_tls_of(raw).map { SSL_has_pending($0) == 1 } == true }

  /// Reads bytes of an open connection once, as `curl_easy_recv` does.
  func receive(into space: UnsafeMutableRawPointer?, _ size: Int, _ count: inout Int) -> CURLcode {
    failing(curl_easy_recv(raw, space, size, &count), CURLE_RECV_ERROR)
  }

  /// Writes bytes to an open connection once, as `curl_easy_send` does.
  func send(_ bytes: UnsafeRawPointer?, _ size: Int, _ count: inout Int) -> CURLcode {
    failing(curl_easy_send(raw, bytes, size, &count), CURLE_SEND_ERROR)
  }

  /// Returns the failure in place of `CURLE_AGAIN` if OpenSSL has given up the connection, for example because it had
  /// no memory. libcurl reports `CURLE_AGAIN` then, and the loop would try again without end.
  private func failing(_ code: CURLcode, _ failure: CURLcode) -> CURLcode {
    guard code == CURLE_AGAIN, let ssl = clastro_tls_of(raw), let state = SSL_state_string(ssl) else { return code }
    return strcmp(state, "SSLERR") == 0 ? failure : code
  }

  /// The facts about the connection, including those that explain a failure.
  var facts: clastro_facts {
    var facts = clastro_facts()
    clastro_get(raw, CURLINFO_NAMELOOKUP_TIME_T, &facts.name_lookup)
    clastro_get(raw, CURLINFO_CONNECT_TIME_T, &facts.connect)
    clastro_get(raw, CURLINFO_APPCONNECT_TIME_T, &facts.app_connect)
    clastro_get(raw, CURLINFO_HTTP_CONNECTCODE, &facts.connect_code)
    clastro_get(raw, CURLINFO_OS_ERRNO, &facts.os_errno)
    clastro_get(raw, CURLINFO_PROXY_ERROR, &facts.proxy_error)
    clastro_get(raw, CURLINFO_SSL_VERIFYRESULT, &facts.verify_result)
    return facts
  }
}
