// SPDX-License-Identifier: Apache-2.0

internal import CLastro

/// Owns one easy handle. Lives on the loop thread only; freed with the object.
final class EasyHandle {
  let raw: UnsafeMutableRawPointer
  /// Whom libcurl's callbacks are for, as long as it has the handle.
  var transfer: Transfer?
  /// What its options were set for. `nil`: they are libcurl's own, or nobody's who comes next.
  var setting: HandleSetting?
  /// Path and query of the URL that is set.
  var path: String?

  init?() {
    guard CurlGlobal.isReady, let raw = curl_easy_init() else { return nil }
    self.raw = raw
  }

  deinit { curl_easy_cleanup(raw) }

  /// Clears every option; live connections, DNS entries and TLS sessions are kept by libcurl.
  func reset() {
    curl_easy_reset(raw)
    setting = nil
    path = nil
  }

  /// Whether its options are those of a request with this setting.
  func isSet(for setting: HandleSetting?) -> Bool {
    guard let setting, let own = self.setting else { return false }
    return own == setting
  }

  @discardableResult
  func set(_ option: CURLoption, _ value: Int) -> CURLcode { clastro_set_long(raw, option, value) }

  @discardableResult
  func set(_ option: CURLoption, offset value: Int64) -> CURLcode { clastro_set_off(raw, option, value) }

  /// libcurl copies strings.
  @discardableResult
  func set(_ option: CURLoption, _ value: String?) -> CURLcode {
    guard let value else { return clastro_set_ptr(raw, option, nil) }
    return value.withCString { clastro_set_ptr(raw, option, $0) }
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

  /// - Parameter hasFailed: whether to read too what a failure is explained with.
  func facts(hasFailed: Bool) -> clastro_facts {
    var facts = clastro_facts()
    clastro_read_facts(raw, &facts, hasFailed)
    return facts
  }
}

/// Idle easy handles, kept: making one afresh costs a tenth of a small request, and setting one up as much again.
struct EasyHandlePool {
  private var idle: [EasyHandle] = []
  private let capacity: Int

  init(capacity: Int) { self.capacity = capacity }

  mutating func take() -> EasyHandle? { idle.popLast() ?? EasyHandle() }

  /// - Parameter keepsOptions: whether the next transfer may find the options as they are.
  mutating func give(_ handle: EasyHandle, keepsOptions: Bool) {
    handle.transfer = nil
    guard idle.count < capacity else { return }
    if !keepsOptions || handle.setting == nil { handle.reset() }
    idle.append(handle)
  }
}
