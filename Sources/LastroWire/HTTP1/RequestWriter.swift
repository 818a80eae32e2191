// SPDX-License-Identifier: Apache-2.0

/// Writes the head of a request (RFC 9112 §3, §5): request line, fields, empty line. What could be read as another request,
/// or as two, is refused.
///
/// Values go out as the bytes they are: nothing is trimmed, folded or encoded.
package struct RequestWriter: Sendable {
  private var bytes: [UInt8] = []
  private var hasHost = false
  private var hasLength = false
  private var isChunked = false

  /// - Parameters:
  ///   - method: a token, such as `GET`.
  ///   - target: origin-form (`/path?query`), or host and port for CONNECT: visible ASCII without `#`.
  /// - Throws: ``RequestViolation`` of kind `method` or `target`.
  package init(method: String, target: String) throws(RequestViolation) {
    guard !method.isEmpty, method.utf8.allSatisfy(FieldSyntax.isToken) else {
      throw RequestViolation(.method, "the method is empty, or has characters that a method cannot have")
    }
    guard !target.isEmpty, target.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw RequestViolation(.target, "the request's target is empty, or has characters that cannot be sent")
    }
    bytes.reserveCapacity(512)
    bytes += method.utf8
    bytes.append(0x20)
    bytes += target.utf8
    bytes += " HTTP/1.1\r\n".utf8
  }

  /// Adds a field.
  ///
  /// - Throws: ``RequestViolation`` of kind `fieldName`, `fieldValue`, `host` or `framing`.
  package mutating func add(_ name: String, _ value: String) throws(RequestViolation) {
    try Array(value.utf8).withUnsafeBufferPointer { bytes throws(RequestViolation) in try add(name, bytes) }
  }

  /// Adds a field whose value is these bytes.
  ///
  /// - Throws: ``RequestViolation`` of kind `fieldName`, `fieldValue`, `host` or `framing`.
  package mutating func add(_ name: String, _ value: UnsafeBufferPointer<UInt8>) throws(RequestViolation) {
    guard !name.isEmpty, name.utf8.allSatisfy(FieldSyntax.isToken) else {
      throw RequestViolation(.fieldName, "the name of a header field is empty, or has characters it cannot have")
    }
    guard value.allSatisfy(FieldSyntax.isValue) else {
      throw RequestViolation(.fieldValue, "the value of the header field \(name) has a control character in it")
    }
    try note(name, value)
    bytes += name.utf8
    bytes += [0x3A, 0x20]
    bytes += value
    bytes += [0x0D, 0x0A]
  }

  /// The head as it goes out.
  ///
  /// - Throws: ``RequestViolation`` of kind `host` where there is no `Host` field (RFC 9112 §3.2).
  package consuming func finish() throws(RequestViolation) -> [UInt8] {
    guard hasHost else { throw RequestViolation(.host, "the request has no Host header field") }
    bytes += [0x0D, 0x0A]
    return bytes
  }

  /// What two recipients could take for the ends of two bodies, or for the names of two hosts.
  private mutating func note(_ name: String, _ value: UnsafeBufferPointer<UInt8>) throws(RequestViolation) {
    switch name.utf8.count {
    case 4 where name.isASCII("host"):
      guard !hasHost else { throw RequestViolation(.host, "there are several Host header fields") }
      guard value.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
        throw RequestViolation(.host, "the Host header field has a blank, or a character outside of ASCII")
      }
      hasHost = true
    case 14 where name.isASCII("content-length"):
      guard !hasLength, !isChunked, !value.isEmpty, value.allSatisfy({ (0x30...0x39).contains($0) }) else {
        throw RequestViolation(.framing, "Content-Length is not one number, or stands beside Transfer-Encoding")
      }
      hasLength = true
    case 17 where name.isASCII("transfer-encoding"):
      guard !hasLength, !isChunked, value.elementsEqual("chunked".utf8) else {
        throw RequestViolation(.framing, "Transfer-Encoding is not chunked, once, or stands beside Content-Length")
      }
      isChunked = true
    default: break
    }
  }
}
