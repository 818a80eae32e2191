// SPDX-License-Identifier: Apache-2.0

/// Writes the head of a request (RFC 9112 §3, §5): the request line, fields, and an empty line. It refuses input that
/// another recipient could read as a different request or as two requests.
///
/// Values are sent unchanged: they are not trimmed, folded or encoded.
package struct RequestWriter: Sendable {
  private var bytes = HeadBytes()
  private var hasHost = false
  private var hasLength = false
  private var isChunked = false

  /// Creates a writer for many consecutive requests: call ``writeRequestLine(method:target:)``, add fields, then
  /// call ``writeEmptyLine()`` and ``withBytes(_:)``. The memory is reused.
  ///
  /// A writer without a request line keeps fields that ``add(_:)`` adds to many requests.
  package init() {}

  /// Creates a writer and writes the request line.
  ///
  /// - Parameters:
  ///   - method: a token, such as `GET`.
  ///   - target: origin-form (`/path?query`), absolute-form for a proxy, or host and port for CONNECT: visible ASCII
  ///     without `#`.
  /// - Throws: ``RequestViolation`` of kind `method` or `target`.
  package init(method: String, target: String) throws(RequestViolation) {
    try writeRequestLine(method: method, target: target)
  }

  /// Writes the request line. Earlier content is dropped.
  ///
  /// - Parameters:
  ///   - method: a token, such as `GET`.
  ///   - target: origin-form (`/path?query`), absolute-form for a proxy, or host and port for CONNECT: visible ASCII
  ///     without `#`.
  /// - Throws: ``RequestViolation`` of kind `method` or `target`.
  package mutating func writeRequestLine(method: String, target: String) throws(RequestViolation) {
    bytes.removeAll()
    (hasHost, hasLength, isChunked) = (false, false, false)
    guard !method.isEmpty, method.hasOnly(FieldSyntax.isToken) else {
      throw RequestViolation(.method, "the method is empty, or has characters that a method cannot have")
    }
    guard !target.isEmpty, target.hasOnly({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else {
      throw RequestViolation(.target, "the request's target is empty, or has characters that cannot be sent")
    }
    append(method)
    append(" ")
    append(target)
    append(" HTTP/1.1\r\n")
  }

  /// Adds the fields of a writer without a request line, which has validated them.
  ///
  /// - Throws: ``RequestViolation`` of kind `host` or `framing` if they contradict fields that were added before.
  package mutating func add(_ other: RequestWriter) throws(RequestViolation) {
    guard !hasHost || !other.hasHost else {
      throw RequestViolation(.host, "there are several Host header fields")
    }
    guard !hasLength && !isChunked || !other.hasLength && !other.isChunked else {
      throw RequestViolation(.framing, "Content-Length or Transfer-Encoding is given twice, or both are given")
    }
    hasHost = hasHost || other.hasHost
    hasLength = hasLength || other.hasLength
    isChunked = isChunked || other.isChunked
    other.withBytes { bytes.append($0) }
  }

  /// Adds a field.
  ///
  /// - Throws: ``RequestViolation`` of kind `fieldName`, `fieldValue`, `host` or `framing`.
  package mutating func add(_ name: String, _ value: String) throws(RequestViolation) {
    try value.withBytes { bytes throws(RequestViolation) in try add(name, bytes) }
  }

  /// Adds a field with the given bytes as its value.
  ///
  /// - Throws: ``RequestViolation`` of kind `fieldName`, `fieldValue`, `host` or `framing`.
  package mutating func add(_ name: String, _ value: UnsafeBufferPointer<UInt8>) throws(RequestViolation) {
    guard !name.isEmpty, name.hasOnly(FieldSyntax.isToken) else {
      throw RequestViolation(.fieldName, "the name of a header field is empty, or has characters it cannot have")
    }
    guard UnsafeRawBufferPointer(value).isFieldValue().isValid else {
      throw RequestViolation(.fieldValue, "the value of the header field \(name) has a control character in it")
    }
    try note(name, value)
    name.withBytes { bytes.append(UnsafeRawBufferPointer($0), UnsafeRawBufferPointer(value)) }
  }

  /// Returns the complete head.
  ///
  /// - Throws: ``RequestViolation`` of kind `host` if there is no `Host` field (RFC 9112 §3.2).
  package consuming func finish() throws(RequestViolation) -> [UInt8] {
    try writeEmptyLine()
    return bytes.withBytes { Array($0) }
  }

  /// Writes the empty line. ``withBytes(_:)`` then returns the complete head.
  ///
  /// - Throws: ``RequestViolation`` of kind `host` if there is no `Host` field (RFC 9112 §3.2).
  package mutating func writeEmptyLine() throws(RequestViolation) {
    guard hasHost else { throw RequestViolation(.host, "the request has no Host header field") }
    append("\r\n")
  }

  /// Calls `body` with the bytes that have been written so far.
  package func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result { try bytes.withBytes(body) }

  private mutating func append(_ text: String) { text.withBytes { bytes.append(UnsafeRawBufferPointer($0)) } }

  private mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(UnsafeRawBufferPointer($0)) }
  }

  /// Records the fields that frame the body or name the host, and rejects values that recipients could interpret
  /// differently.
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
        throw RequestViolation(.framing, "Content-Length is not one number, or comes with Transfer-Encoding")
      }
      hasLength = true
    case 17 where name.isASCII("transfer-encoding"):
      guard !hasLength, !isChunked, value.elementsEqual("chunked".utf8) else {
        throw RequestViolation(.framing, "Transfer-Encoding is not \"chunked\", once, or comes with Content-Length")
      }
      isChunked = true
    default: break
    }
  }
}
