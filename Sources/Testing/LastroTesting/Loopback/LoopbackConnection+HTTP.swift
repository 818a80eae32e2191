// SPDX-License-Identifier: Apache-2.0

extension LoopbackConnection {
  /// The maximum number of bytes of a head, or of a chunk's line.
  static let maximumHeadBytes = 4 * 1024 * 1024

  /// Reads a request head and records it in ``LoopbackServer/requests``. Returns `nil` if the connection ends before
  /// its first byte. Empty lines before it are skipped (RFC 9112 §2.2).
  ///
  /// - Throws: ``LoopbackError/disconnected`` if the connection ends within it, ``LoopbackError/malformedRequest(_:)``.
  public func readHead() throws(LoopbackError) -> RawRequestHead? {
    var bytes: [UInt8] = []
    var lines: [String] = []
    while let raw = readRawLine() {
      guard raw.last == UInt8(ascii: "\n") else { throw .disconnected }
      bytes += raw
      if bytes.count > Self.maximumHeadBytes { throw .malformedRequest("its head is too large") }
      let line = raw.dropLast(raw.dropLast().last == UInt8(ascii: "\r") ? 2 : 1)
      if !line.isEmpty {
        lines.append(String(decoding: line, as: UTF8.self))
      } else if lines.isEmpty {
        bytes = []
      } else {
        let head = try RawRequestHead(lines: lines, bytes: bytes)
        core.record(
          LoopbackRequest(head: head, body: [], isComplete: !head.hasBody, connection: number))
        return head
      }
    }
    if !lines.isEmpty { throw .disconnected }
    return nil
  }

  /// Reads the body that a head announces, chunked or by `Content-Length`, and adds it to the recorded request with its
  /// trailers. Returns an empty body if none is announced.
  ///
  /// - Throws: ``LoopbackError/disconnected`` if the connection ends within it, ``LoopbackError/malformedRequest(_:)``.
  @discardableResult
  public func readBody(for head: RawRequestHead) throws(LoopbackError) -> [UInt8] { try readWhole(head).body }

  private func readWhole(
    _ head: RawRequestHead
  ) throws(LoopbackError) -> (body: [UInt8], trailers: [RawRequestHead.Field]) {
    var body: [UInt8] = []
    var trailers: [RawRequestHead.Field] = []
    if head.isChunked {
      (body, trailers) = try (readChunks(), readTrailers())
    } else if let text = head["Content-Length"] {
      guard let length = Int(text), length >= 0 else { throw .malformedRequest("Content-Length is \"\(text)\"") }
      body = try read(exactly: length)
    }
    core.complete(connection: number, body: body, trailers: trailers)
    return (body, trailers)
  }

  /// Reads a head and its body, and answers `Expect: 100-continue` in between. Returns `nil` if the connection ends
  /// first.
  ///
  /// - Throws: ``LoopbackError``.
  public func readRequest() throws(LoopbackError) -> LoopbackRequest? {
    guard let head = try readHead() else { return nil }
    if head.hasBody && head["Expect"]?.lowercased() == "100-continue" {
      try write("HTTP/1.1 100 Continue\r\n\r\n")
    }
    let (body, trailers) = try readWhole(head)
    return LoopbackRequest(head: head, body: body, trailers: trailers, isComplete: true, connection: number)
  }

  private func readChunks() throws(LoopbackError) -> [UInt8] {
    var body: [UInt8] = []
    while true {
      guard let line = readLine() else { throw .disconnected }
      let digits = line.prefix { $0 != ";" && $0 != " " }
      guard let length = Int(digits, radix: 16), length >= 0 else {
        throw .malformedRequest("\"\(line)\" is not a chunk size")
      }
      if length == 0 { return body }
      body += try read(exactly: length)
      guard readLine() == "" else { throw .malformedRequest("a chunk does not end where it should") }
    }
  }

  private func readTrailers() throws(LoopbackError) -> [RawRequestHead.Field] {
    var trailers: [RawRequestHead.Field] = []
    while true {
      guard let line = readLine() else { throw .disconnected }
      if line.isEmpty { return trailers }
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { throw .malformedRequest("\"\(line)\" is not a field") }
      trailers.append(.init(name: String(parts[0]), value: String(parts[1].drop { $0 == " " })))
    }
  }
}
