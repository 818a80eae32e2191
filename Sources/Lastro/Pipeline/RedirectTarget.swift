// SPDX-License-Identifier: Apache-2.0

/// Where a `Location` leads: a reference resolved against the URL that was asked (RFC 3986 §5.2, RFC 9110 §10.2.2).
struct RedirectTarget: Equatable {
  var target: RequestTarget
  /// The reference's own, else the one that came along.
  var fragment: String?

  /// With the fragment.
  var url: String { urlWithoutFragment + (fragment.map { "#" + $0 } ?? "") }

  /// What is requested: URLs that differ in their fragments only are one resource.
  var urlWithoutFragment: String { target.absolute }

  /// Resolves a reference.
  ///
  /// Stricter than browsers: exactly `://` after a scheme, no control characters, no user info. A raw space and
  /// characters outside ASCII are percent-encoded, because servers send them.
  ///
  /// - Throws: stage `request`, for what is no `http` or `https` URL that may be followed.
  init(_ location: String, base: RequestTarget, fragment inherited: String?) throws(TransportError) {
    var reference = location.trimming { $0 == " " || $0 == "\t" }.replacing(" ", with: "%20")[...]
    guard reference.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw .refused(.invalidURL, "the location has a control character")
    }
    fragment = inherited
    if let hash = reference.firstIndex(of: "#") {
      fragment = reference[reference.index(after: hash)...].sanitized(keeping: .query)
      reference = reference[..<hash]
    }
    if Self.hasScheme(reference) {
      target = try RequestTarget(String(reference))
    } else if reference.hasPrefix("//") {
      target = try RequestTarget("\(base.scheme):\(reference)")
    } else {
      target = base
      target.resolve(reference)
    }
    target.path = Self.removingDotSegments(target.path)
  }

  private static func hasScheme(_ reference: Substring) -> Bool {
    guard let end = reference.firstIndex(where: { ":/?".contains($0) }) else { return false }
    return reference[end] == ":"
  }

  /// Removes `.` and `..` (RFC 3986 §5.2.4), percent-encoded ones too, as browsers do.
  static func removingDotSegments(_ path: String) -> String {
    guard path.contains(".") || path.contains("%2") else { return path }
    var kept: [Substring] = []
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
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
}

extension RequestTarget {
  /// As one string.
  var absolute: String { "\(scheme)://\(authority)\(pathAndQuery)" }

  /// Takes path and query of a reference that has neither scheme nor authority.
  fileprivate mutating func resolve(_ reference: Substring) {
    let mark = reference.firstIndex(of: "?")
    let referencePath = reference[..<(mark ?? reference.endIndex)].sanitized(keeping: .path)
    let referenceQuery = mark.map { reference[reference.index(after: $0)...].sanitized(keeping: .query) }
    if referencePath.isEmpty {
      query = referenceQuery ?? query
      return
    }
    query = referenceQuery
    if referencePath.hasPrefix("/") {
      path = referencePath
    } else {
      path = path[...(path.lastIndex(of: "/") ?? path.startIndex)] + referencePath
    }
  }
}

extension String {
  fileprivate func trimming(_ isTrimmed: (Character) -> Bool) -> Substring {
    let start = drop(while: isTrimmed)
    guard let last = start.lastIndex(where: { !isTrimmed($0) }) else { return start }
    return start[...last]
  }
}
