// SPDX-License-Identifier: Apache-2.0

/// An absolute `http` or `https` URL in parts, and references resolved against it (RFC 3986 §5).
///
/// Stricter than browsers where leniency has been used to smuggle hosts: no user info, no backslash before the query, no
/// control characters, exactly two slashes after a scheme, ASCII hosts.
struct URLParts: Equatable {
  var origin: Origin
  /// Starts with `/`; percent-encoded.
  var path: String
  var query: String?
  var fragment: String?

  init(origin: Origin, path: String, query: String? = nil, fragment: String? = nil) {
    self.origin = origin
    self.path = path
    self.query = query
    self.fragment = fragment
  }

  /// Path with query, as it stands in a request's head.
  var target: String { path + (query.map { "?" + $0 } ?? "") }

  var absolute: String { "\(origin)\(target)" + (fragment.map { "#" + $0 } ?? "") }

  init?(absolute url: String) {
    guard let reference = Reference(url), let scheme = reference.scheme, let authority = reference.authority,
      let origin = Self.origin(scheme: scheme, authority: authority)
    else { return nil }
    self.init(
      origin: origin, path: Self.removingDotSegments(reference.path), query: reference.query,
      fragment: reference.fragment)
  }

  /// The URL that a reference leads to from here; `nil` for one that may not be followed.
  func resolving(_ text: String) -> URLParts? {
    guard let reference = Reference(text) else { return nil }
    if reference.scheme != nil && reference.authority == nil { return nil }
    var result = self
    result.fragment = reference.fragment ?? fragment
    if let authority = reference.authority {
      guard let origin = Self.origin(scheme: reference.scheme ?? origin.scheme, authority: authority) else {
        return nil
      }
      result.origin = origin
      result.path = Self.removingDotSegments(reference.path)
      result.query = reference.query
    } else if reference.path.isEmpty {
      result.query = reference.query ?? query
    } else {
      let base = path[..<(path.lastIndex(of: "/") ?? path.startIndex)] + "/"
      result.path = Self.removingDotSegments(reference.path.hasPrefix("/") ? reference.path : base + reference.path)
      result.query = reference.query
    }
    return result
  }

  static func origin(scheme: String, authority: String) -> Origin? {
    let scheme = scheme.lowercased()
    guard scheme == "http" || scheme == "https", !authority.utf8.contains(UInt8(ascii: "@")) else { return nil }
    var host = authority[...]
    var port = Origin.defaultPort(of: scheme)
    let afterAddress = authority.hasPrefix("[") ? authority.firstIndex(of: "]") : authority.startIndex
    guard let afterAddress else { return nil }
    if let colon = authority[afterAddress...].firstIndex(of: ":") {
      host = authority[..<colon]
      let digits = authority[authority.index(after: colon)...]
      if !digits.isEmpty {
        guard digits.utf8.allSatisfy(isDigit), let number = Int(digits), (1...65_535).contains(number) else {
          return nil
        }
        port = number
      }
    }
    guard isHost(host) else { return nil }
    return Origin(scheme: scheme, host: host.lowercased(), port: port)
  }

  private static func isHost(_ host: Substring) -> Bool {
    if host.hasPrefix("[") {
      guard host.hasSuffix("]"), host.utf8.count > 3 else { return false }
      return host.utf8.dropFirst().dropLast().allSatisfy {
        isHexDigit($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".")
      }
    }
    guard !host.isEmpty, host != "." else { return false }
    return host.utf8.allSatisfy { isAlphanumeric($0) || "-._~".utf8.contains($0) }
  }

  /// Removes `.` and `..`, also where they are percent-encoded, as browsers do. The result starts with `/`.
  static func removingDotSegments(_ path: String) -> String {
    var kept: [Substring] = []
    let segments =
      path.drop { $0 == "/" }.isEmpty && path.isEmpty
      ? [] : path.dropFirst(path.hasPrefix("/") ? 1 : 0).split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let isLast = index == segments.count - 1
      switch segment.lowercased().replacing("%2e", with: ".") {
      case ".": if isLast { kept.append("") }
      case "..":
        _ = kept.popLast()
        if isLast { kept.append("") }
      default: kept.append(segment)
      }
    }
    return "/" + kept.joined(separator: "/")
  }

  static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  static func isHexDigit(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
  }
  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}

extension URLParts {
  /// A URL reference split into its parts, illegal but harmless characters percent-encoded.
  private struct Reference {
    var scheme: String?
    var authority: String?
    var path: String
    var query: String?
    var fragment: String?

    init?(_ text: String) {
      var rest = Substring(text.trimmingSpaces())
      guard rest.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
      if let hash = rest.firstIndex(of: "#") {
        fragment = URLParts.encoded(rest[rest.index(after: hash)...])
        rest = rest[..<hash]
      }
      if let mark = rest.firstIndex(of: "?") {
        query = URLParts.encoded(rest[rest.index(after: mark)...])
        rest = rest[..<mark]
      }
      if rest.utf8.contains(UInt8(ascii: "\\")) { return nil }
      if let colon = rest.firstIndex(where: { ":/".contains($0) }), rest[colon] == ":" {
        let name = rest[..<colon]
        guard let first = name.utf8.first, !URLParts.isDigit(first),
          name.utf8.allSatisfy({ URLParts.isAlphanumeric($0) || "+-.".utf8.contains($0) })
        else { return nil }
        scheme = String(name)
        rest = rest[rest.index(after: colon)...]
      }
      if rest.hasPrefix("//") {
        rest = rest.dropFirst(2)
        let end = rest.firstIndex(of: "/") ?? rest.endIndex
        authority = String(rest[..<end])
        rest = rest[end...]
      }
      path = URLParts.encoded(rest)
    }
  }

  /// Percent-encodes what may not stand in a path, query or fragment; leaves `%` alone.
  private static func encoded(_ text: Substring) -> String {
    let illegal = " \"<>`{}|^\\".utf8
    guard text.utf8.contains(where: { $0 >= 0x80 || illegal.contains($0) }) else { return String(text) }
    var result = ""
    for byte in text.utf8 {
      if byte >= 0x80 || illegal.contains(byte) {
        let hex = String(byte, radix: 16, uppercase: true)
        result += hex.count == 1 ? "%0\(hex)" : "%\(hex)"
      } else {
        result.unicodeScalars.append(Unicode.Scalar(byte))
      }
    }
    return result
  }
}

extension String {
  fileprivate func trimmingSpaces() -> Substring {
    let start = drop { $0 == " " || $0 == "\t" }
    guard let last = start.lastIndex(where: { $0 != " " && $0 != "\t" }) else { return start }
    return start[...last]
  }
}
