// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

extension RequestTarget {
  /// Parses, in one pass, a URL whose parts can be sent as they are written; returns `nil` for any other URL.
  static func plain(_ url: UnsafeBufferPointer<UInt8>) -> RequestTarget? {
    guard let scheme = plainScheme(url) else { return nil }
    let start = scheme.utf8.count + 3
    var end = start
    while end < url.count, url[end] != slash, url[end] != mark, url[end] != hash { end += 1 }
    guard let authority = plainAuthority(url, start, end, defaultPort: start == 8 ? 443 : 80),
      let pathEnd = plainPartEnd(url, end, in: .path)
    else { return nil }
    let path = end == pathEnd ? "/" : text(url, end, pathEnd)
    guard pathEnd < url.count, url[pathEnd] == mark else {
      return RequestTarget(scheme: scheme, authority: authority, path: path, query: nil)
    }
    guard let queryEnd = plainPartEnd(url, pathEnd + 1, in: .query) else { return nil }
    return RequestTarget(scheme: scheme, authority: authority, path: path, query: text(url, pathEnd + 1, queryEnd))
  }

  private static var slash: UInt8 { UInt8(ascii: "/") }
  private static var mark: UInt8 { UInt8(ascii: "?") }
  private static var hash: UInt8 { UInt8(ascii: "#") }

  private static func plainScheme(_ url: UnsafeBufferPointer<UInt8>) -> String? {
    if url.starts(with: "https://".utf8) { return "https" }
    return url.starts(with: "http://".utf8) ? "http" : nil
  }

  private static func plainAuthority(
    _ url: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, defaultPort: Int
  ) -> String? {
    guard let plain = PlainAuthority(UnsafeBufferPointer(rebasing: url[start..<end])), plain.isLowerCase else {
      return nil
    }
    let hostEnd = start + plain.hostLength
    guard let port = plain.port, port != defaultPort else { return text(url, start, hostEnd) }
    // Leading zeros of a port are not sent, so the general parser must remove them.
    return url[hostEnd + 1] == UInt8(ascii: "0") ? nil : text(url, start, end)
  }

  /// Returns the end of a part: the index of the `?` or `#` that ends it, or the end of the URL. Returns `nil` if the
  /// part contains a byte that must be percent-encoded.
  private static func plainPartEnd(_ url: UnsafeBufferPointer<UInt8>, _ start: Int, in kept: ByteSet) -> Int? {
    var index = start
    while index < url.count {
      let byte = url[index]
      if byte == UInt8(ascii: "%") {
        guard url.count - index > 2, url[index + 1].hexadecimalValue != nil, url[index + 2].hexadecimalValue != nil
        else { return nil }
      } else if !kept.contains(byte) {
        return byte == hash || byte == mark ? index : nil
      }
      index += 1
    }
    return index
  }

  private static func text(_ url: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> String {
    String(decoding: UnsafeBufferPointer(rebasing: url[start..<end]), as: UTF8.self)
  }
}
