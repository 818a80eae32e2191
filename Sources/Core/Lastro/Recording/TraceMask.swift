// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes

/// Replaces the secrets and bodies in the bytes of HTTP/1.1 by as many other bytes, so that an engine reads them in the
/// same way.
struct TraceMask {
  private static let filler = UInt8(ascii: "*")
  private static let lineFeed = UInt8(ascii: "\n")
  /// The maximum length of a chunk's line, with its extensions, that is kept.
  private static let chunkLineBytes = 64 * 1024
  /// The number of bytes that are kept of a line that cannot begin a chunk, so that it fails in the same way.
  private static let badLineBytes = 16

  /// A redaction that keeps lengths.
  let redaction: Redaction
  let keepsBodies: Bool

  /// The masked bytes of responses.
  struct Response {
    var bytes: [UInt8]
    /// The positions of the body's bytes, without the lines of chunks.
    var body: [Range<Int>] = []
    var isEncoded = false
    var isGzip = false
  }

  /// Returns the masked bytes of a request.
  func request(_ bytes: [UInt8]) -> [UInt8] {
    guard let end = Self.endOfHead(in: bytes[...]) else { return head(bytes[...], isCut: true) }
    return head(bytes[..<end]) + body(Array(bytes[end...]))
  }

  /// Returns the masked bytes of a response, with the interim responses before it.
  ///
  /// - Parameter toHead: whether it responds to HEAD.
  func response(_ bytes: [UInt8], toHead: Bool) -> Response {
    var result = Response(bytes: bytes)
    var position = 0
    while position < bytes.count {
      guard let end = Self.endOfHead(in: bytes[position...]) else {
        result.bytes.replaceSubrange(position..., with: head(bytes[position...], isCut: true))
        return result
      }
      result.bytes.replaceSubrange(position..<end, with: head(bytes[position..<end]))
      let fields = Self.fields(in: bytes[position..<end])
      let status = Self.status(in: bytes[position..<end]) ?? 0
      position = end
      if (100...199).contains(status), status != 101 { continue }
      let coding = fields.last { $0.name == "content-encoding" }?.value.lowercased() ?? "identity"
      result.isEncoded = coding != "identity" && !coding.isEmpty
      result.isGzip = coding == "gzip" || coding == "x-gzip"
      if toHead || status == 204 || status == 304 { break }
      if fields.contains(where: { $0.name == "transfer-encoding" && $0.value.lowercased().contains("chunked") }) {
        position = chunks(from: position, &result)
      } else {
        let length = fields.last { $0.name == "content-length" }.flatMap { Int($0.value) }
        let bodyEnd = min(bytes.count, position + max(0, length ?? bytes.count))
        result.body = [position..<bodyEnd]
        position = bodyEnd
      }
      break
    }
    let masked = body(result.body.flatMap { bytes[$0] })
    var taken = 0
    for range in result.body {
      result.bytes.replaceSubrange(range, with: masked[taken..<taken + range.count])
      taken += range.count
    }
    // No response asked for these bytes, so they may be anything.
    if position < bytes.count {
      result.bytes.replaceSubrange(position..., with: repeatElement(Self.filler, count: bytes.count - position))
    }
    return result
  }

  /// Returns the bytes of a text body with its secrets masked, or as many fillers.
  func body(_ bytes: [UInt8]) -> [UInt8] {
    guard keepsBodies, let text = String(validating: bytes, as: UTF8.self) else {
      return Array(repeating: Self.filler, count: bytes.count)
    }
    let masked = Array(redaction.text(text, isCut: true).utf8)
    return masked.count == bytes.count ? masked : Array(repeating: Self.filler, count: bytes.count)
  }

  /// Adds the bodies of chunks to a result, and masks the rest of their lines.
  ///
  /// - Returns: the position behind the last chunk and its trailers.
  private func chunks(from start: Int, _ result: inout Response) -> Int {
    let bytes = result.bytes
    var position = start
    while position < bytes.count {
      let line = bytes[position...].prefix(Self.chunkLineBytes).firstIndex(of: Self.lineFeed)
      guard let line else { return min(bytes.count, position + Self.badLineBytes + 1) }
      let digits = bytes[position..<line].prefix { Self.isHexDigit($0) }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
        bytes[digits.endIndex...line].first.map({ ";\r\n \t".utf8.contains($0) }) == true
      else { return min(line + 1, position + min(digits.count, Self.badLineBytes) + Self.badLineBytes) }
      result.bytes.replaceSubrange(position...line, with: masked(bytes[position...line]))
      position = line + 1
      if size == 0 {
        let end = Self.endOfTrailers(in: bytes[position...])
        result.bytes.replaceSubrange(position..<end, with: head(bytes[position..<end], hasStartLine: false))
        return end
      }
      let end = min(bytes.count, position + min(size, bytes.count))
      result.body.append(position..<end)
      // The line end behind the data stays as it is, because a wrong one is a fault.
      let next = bytes[end...].prefix(2)
      position = next.first == Self.lineFeed ? end + 1 : end + next.count
    }
    return bytes.count
  }

  // MARK: Heads

  /// Returns the masked lines of a head.
  private func head(_ bytes: ArraySlice<UInt8>, isCut: Bool = false, hasStartLine: Bool = true) -> [UInt8] {
    var result: [UInt8] = []
    var rest = bytes
    var isFirst = hasStartLine
    var isSecretField = false
    while !rest.isEmpty {
      let end = rest.firstIndex(of: Self.lineFeed).map { $0 + 1 } ?? rest.endIndex
      let line = rest[..<end]
      rest = rest[end...]
      if isFirst {
        result += startLine(line)
        isFirst = false
        continue
      }
      if let first = line.first, first == 0x20 || first == 0x09 {
        result += isSecretField ? filled(line) : masked(line, isCut: isCut)
        continue
      }
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else {
        isSecretField = false
        result += masked(line, isCut: isCut)
        continue
      }
      let name = String(decoding: line[..<colon], as: UTF8.self).filter { !$0.isWhitespace }
      isSecretField = HTTPField.Name(name).map { redaction.isSecret($0) } ?? redaction.isSecret(name: name)
      let isChallenge = ["www-authenticate", "proxy-authenticate"].contains(name.lowercased())
      result += line[...colon]
      let value = line[(colon + 1)...]
      if isSecretField, !isChallenge { result += filled(value) } else { result += masked(value, isCut: isCut) }
    }
    return result
  }

  /// Returns the masked first line: a request line with its target, or a status line.
  private func startLine(_ line: ArraySlice<UInt8>) -> [UInt8] {
    let parts = line.split(separator: 0x20, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !line.starts(with: "HTTP/".utf8), let end = parts[1].lastIndex(of: 0x20),
      let target = String(validating: parts[1][..<end], as: UTF8.self)
    else { return masked(line) }
    let shown = Array(redaction.url(target).utf8)
    guard shown.count == end - parts[1].startIndex else { return filled(line) }
    return parts[0] + [0x20] + shown + parts[1][end...]
  }

  /// Returns a line whose secrets are masked by name and by value.
  func masked(_ line: ArraySlice<UInt8>, isCut: Bool = false) -> [UInt8] {
    let text = String(decoding: line, as: UTF8.self)
    let shown = redaction.text(text, isCut: isCut)
    if shown == text { return Array(line) }
    return shown.utf8.count == line.count ? Array(shown.utf8) : filled(line)
  }

  /// Returns a line whose bytes are replaced, except blanks at its start and the line end.
  func filled(_ line: ArraySlice<UInt8>) -> [UInt8] {
    let start = line.firstIndex { $0 != 0x20 && $0 != 0x09 } ?? line.endIndex
    let end = line[start...].lastIndex { $0 != 0x0A && $0 != 0x0D }.map { $0 + 1 } ?? start
    return line[..<start] + Array(repeating: Self.filler, count: end - start) + line[end...]
  }

  // MARK: Parsing

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
    default: false
    }
  }

  /// Returns the position behind the empty line that ends a head.
  private static func endOfHead(in bytes: ArraySlice<UInt8>) -> Int? {
    var line = bytes.startIndex
    while let end = bytes[line...].firstIndex(of: lineFeed) {
      let isEmpty = end == line || end == line + 1 && bytes[line] == 0x0D
      if isEmpty, line > bytes.startIndex { return end + 1 }
      line = end + 1
    }
    return nil
  }

  private static func endOfTrailers(in bytes: ArraySlice<UInt8>) -> Int {
    var line = bytes.startIndex
    while let end = bytes[line...].firstIndex(of: lineFeed) {
      if end == line || end == line + 1 && bytes[line] == 0x0D { return end + 1 }
      line = end + 1
    }
    return bytes.endIndex
  }

  private static func status(in head: ArraySlice<UInt8>) -> Int? {
    guard let blank = head.firstIndex(of: 0x20) else { return nil }
    return Int(String(decoding: head[(blank + 1)...].prefix { (0x30...0x39).contains($0) }, as: UTF8.self))
  }

  private static func fields(in head: ArraySlice<UInt8>) -> [(name: String, value: String)] {
    head.split(separator: lineFeed).dropFirst().compactMap { line in
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
      let value = line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x0D }
      return (
        String(decoding: line[..<colon], as: UTF8.self).lowercased(),
        String(String(decoding: value, as: UTF8.self).reversed().drop { $0 == " " || $0 == "\t" }.reversed())
      )
    }
  }

  // MARK: Compressed bodies

  /// Returns a gzip stream of a number of bytes that decompresses to nothing; `nil` if there is none of that length. Its
  /// comment has the bytes that are left.
  static func emptyGzip(ofCount count: Int) -> [UInt8]? {
    let header: [UInt8] = [0x1F, 0x8B, 0x08, 0x10, 0, 0, 0, 0, 0, 0xFF]
    let end: [UInt8] = [0, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    guard count >= header.count + end.count else { return nil }
    return header + Array(repeating: filler, count: count - header.count - end.count) + end
  }
}
