// SPDX-License-Identifier: Apache-2.0

internal import CLastroHTTP2
package import LastroWire

/// The fields of a request, or its trailers, validated and encoded once for any number of requests.
///
///     var head = try HTTP2Fields(method: "GET", scheme: "https", authority: "example.com", path: "/")
///     try head.add("accept", "*/*")
///     try head.add("authorization", token, isSensitive: true)
///
/// Names are sent in lower case. Fields that belong to an HTTP/1.1 connection are refused (RFC 9113 §8.2.2), and so is
/// `host`, because `:authority` replaces it.
package struct HTTP2Fields: Sendable {
  /// The size limit of a head or of trailers; see ``isTooLarge``.
  package static let maximumBytes = 1 << 20
  /// The largest array of pairs that is kept for the next request.
  private static let keptPairs = 128

  /// The names and values of all fields, concatenated.
  var bytes: [UInt8] = []
  var fields: [Field] = []

  struct Field: Sendable {
    var nameLength: UInt32
    var valueLength: UInt32
    var isSensitive: Bool
  }

  /// Creates trailers without any field.
  package init() {}

  /// Creates the head of a request.
  ///
  /// - Parameters:
  ///   - scheme: `http` or `https`; `nil` for CONNECT (RFC 9113 §8.5).
  ///   - authority: the host, and the port unless it is the scheme's default.
  ///   - path: the path with its query; `nil` for CONNECT.
  /// - Throws: ``RequestViolation`` of kind `method`, `target` or `host`.
  package init(method: String, scheme: String?, authority: String, path: String?) throws(RequestViolation) {
    bytes.reserveCapacity(256)
    fields.reserveCapacity(16)
    guard appendPseudo(":method", method, FieldSyntax.isToken) else {
      throw RequestViolation(.method, "the method is empty, or has characters that a method cannot have")
    }
    if let scheme { _ = appendPseudo(":scheme", scheme, Self.isVisible) }
    guard appendPseudo(":authority", authority, Self.isVisible) else {
      throw RequestViolation(.host, "the authority is empty, or has characters that cannot be sent")
    }
    guard let path else { return }
    guard appendPseudo(":path", path, { Self.isVisible($0) && $0 != UInt8(ascii: "#") }) else {
      throw RequestViolation(.target, "the path is empty, or has characters that cannot be sent")
    }
  }

  /// Adds the protocol of an extended CONNECT (RFC 8441 §4). No other field was added yet.
  ///
  /// - Throws: ``RequestViolation`` of kind `target`.
  package mutating func addProtocol(_ name: String) throws(RequestViolation) {
    guard appendPseudo(":protocol", name, FieldSyntax.isToken) else {
      throw RequestViolation(.target, "the protocol is empty, or has characters that cannot be sent")
    }
  }

  /// Adds a field.
  ///
  /// - Parameter isSensitive: whether the value must not be put into a compression table, from which an attacker could
  ///   learn it.
  /// - Throws: ``RequestViolation`` of kind `fieldName`, `fieldValue`, `host` or `framing`.
  package mutating func add(_ name: String, _ value: String, isSensitive: Bool = false) throws(RequestViolation) {
    var value = value
    let violation = value.withUTF8 { append(name, $0, isSensitive) }
    if let violation { throw violation }
  }

  /// Adds a field with the given bytes as its value.
  ///
  /// - Throws: ``RequestViolation`` of kind `fieldName`, `fieldValue`, `host` or `framing`.
  package mutating func add(
    _ name: String, _ value: UnsafeBufferPointer<UInt8>, isSensitive: Bool = false
  ) throws(RequestViolation) {
    if let violation = append(name, value, isSensitive) { throw violation }
  }

  package var isEmpty: Bool { fields.isEmpty }

  /// The total size of names and values in bytes.
  package var byteCount: Int { bytes.count }

  /// Whether the fields exceed the limit of a session. Each field counts 32 bytes more than its name and value (RFC
  /// 9113 §6.5.2).
  package var isTooLarge: Bool { bytes.count + 32 * fields.count > Self.maximumBytes }

  @inline(__always)
  private mutating func appendPseudo(_ name: StaticString, _ value: String, _ isGood: (UInt8) -> Bool) -> Bool {
    var value = value
    return value.withUTF8 { value in
      guard !value.isEmpty, value.allSatisfy(isGood) else { return false }
      bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
      bytes.append(contentsOf: value)
      note(name.utf8CodeUnitCount, value.count, false)
      return true
    }
  }

  private mutating func append(
    _ name: String, _ value: UnsafeBufferPointer<UInt8>, _ isSensitive: Bool
  ) -> RequestViolation? {
    guard value.allSatisfy(FieldSyntax.isValue), !Self.hasBlankEnds(value) else {
      return RequestViolation(
        .fieldValue, "the value of the header field \(name) has a control character in it, or a blank at an end")
    }
    if let violation = Self.violation(name, value) { return violation }
    var name = name
    let isGood = name.withUTF8 { name in
      guard !name.isEmpty, name.allSatisfy(FieldSyntax.isToken) else { return false }
      for byte in name { bytes.append(byte &- 0x41 < 26 ? byte | 0x20 : byte) }
      bytes.append(contentsOf: value)
      note(name.count, value.count, isSensitive)
      return true
    }
    guard !isGood else { return nil }
    return RequestViolation(.fieldName, "the name of a header field is empty, or has characters it cannot have")
  }

  private mutating func note(_ name: Int, _ value: Int, _ isSensitive: Bool) {
    fields.append(Field(nameLength: UInt32(name), valueLength: UInt32(value), isSensitive: isSensitive))
  }

  private static func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

  private static func hasBlankEnds(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = value.first, let last = value.last else { return false }
    return first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09
  }

  private static func violation(_ name: String, _ value: UnsafeBufferPointer<UInt8>) -> RequestViolation? {
    switch name.utf8.count {
    case 2 where name.isASCII("te") && !String(decoding: value, as: UTF8.self).isASCII("trailers"):
      return RequestViolation(.framing, "TE has a value other than trailers, which HTTP/2 does not allow")
    case 4 where name.isASCII("host"):
      return RequestViolation(.host, "the Host header field is given in addition to :authority")
    case 7 where name.isASCII("upgrade"), 10 where name.isASCII("connection") || name.isASCII("keep-alive"),
      16 where name.isASCII("proxy-connection"), 17 where name.isASCII("transfer-encoding"):
      return RequestViolation(.framing, "the header field \(name) does not exist in HTTP/2")
    default: return nil
    }
  }

  /// Calls `body` after it has put the fields into `pairs` in nghttp2's form. The pairs point to memory that is valid
  /// only during the call.
  func withPairs<Result>(in pairs: inout [nghttp2_nv], _ body: ([nghttp2_nv]) -> Result) -> Result {
    bytes.withUnsafeBufferPointer { bytes in
      // nghttp2 copies names and values, and does not write to them.
      var start = UnsafeMutablePointer(mutating: bytes.baseAddress)
      pairs.removeAll(keepingCapacity: pairs.capacity <= Self.keptPairs)
      pairs.reserveCapacity(fields.count)
      for field in fields {
        let name = Int(field.nameLength), value = Int(field.valueLength)
        let flag = field.isSensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE
        pairs.append(
          nghttp2_nv(
            name: start, value: start.map { $0 + name }, namelen: name, valuelen: value, flags: UInt8(flag.rawValue)))
        start = start.map { $0 + name + value }
      }
      return body(pairs)
    }
  }
}
