// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// Owns one easy handle, which serves one dial and its connection. libcurl keeps state in a handle that neither its
/// next use nor `curl_easy_reset` clears. It is used only on the loop's thread, and freed with the object.
final class EasyHandle {
  let raw: UnsafeMutableRawPointer
  /// The TLS sessions that are shared with other handles.
  private var sessions: SessionShare?

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
      return clastro_set_blob(raw, option, base, buffer.count)
    }
  }

  var facts: clastro_facts { facts(hasFailed: false) }

  /// Returns facts about the connection.
  ///
  /// - Parameter hasFailed: whether to read also the facts that explain a failure.
  func facts(hasFailed: Bool) -> clastro_facts {
    var facts = clastro_facts()
    clastro_read_facts(raw, &facts, hasFailed)
    return facts
  }
}
