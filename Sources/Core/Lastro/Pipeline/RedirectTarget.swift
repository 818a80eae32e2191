// SPDX-License-Identifier: Apache-2.0

private import LastroWire

/// The target of a `Location`: a reference resolved against the URL of the request (RFC 3986 §5.2, RFC 9110 §10.2.2).
package struct RedirectTarget: Equatable {
  package var target: RequestTarget
  /// The fragment of the reference, or else the inherited one.
  var fragment: String?

  /// The URL with its fragment.
  var url: String { urlWithoutFragment + (fragment.map { "#" + $0 } ?? "") }

  /// The URL to request. URLs that differ only in their fragments are the same resource.
  package var urlWithoutFragment: String { target.absolute }

  /// Resolves a reference.
  ///
  /// The rules are stricter than in browsers: a scheme must be followed by exactly `://`, and control characters and
  /// user information are not allowed. A raw space and characters outside ASCII are percent-encoded, because servers
  /// send them.
  ///
  /// - Throws: an error with stage `request` if the result is not an `http` or `https` URL that may be followed.
  package init(_ location: String, base: RequestTarget, fragment inherited: String?) throws(TransportError) {
    // Work on bytes: a combining mark forms a new `Character` with a delimiter, but the delimiter's byte stays the
    // same.
    var reference = location.trimmedWithoutSpaces[...]
    guard reference.utf8.allSatisfy({ !$0.isControl && $0 != 0x20 }) else {
      throw .refused(.invalidURL, "the location has a control character or a space", hint: "percent-encode it")
    }
    fragment = inherited
    if let hash = reference.utf8.firstIndex(of: UInt8(ascii: "#")) {
      fragment = reference[reference.utf8.index(after: hash)...].sanitized(keeping: .query)
      reference = reference[..<hash]
    }
    if Self.hasScheme(reference) {
      target = try RequestTarget(String(reference))
    } else if reference.utf8.starts(with: "//".utf8) {
      target = try RequestTarget("\(base.scheme):\(reference)")
    } else {
      target = base
      target.resolve(reference)
    }
    target.path = target.path.withoutDotSegments
  }

  private static func hasScheme(_ reference: Substring) -> Bool {
    guard let end = reference.utf8.firstIndex(where: ":/?".utf8.contains) else { return false }
    return reference.utf8[end] == UInt8(ascii: ":")
  }
}

extension RequestTarget {
  /// The URL as one string, without the fragment.
  package var absolute: String { "\(scheme)://\(authority)\(pathAndQuery)" }

  /// Applies the path and the query of a reference that has neither scheme nor authority.
  fileprivate mutating func resolve(_ reference: Substring) {
    let mark = reference.utf8.firstIndex(of: UInt8(ascii: "?"))
    let referencePath = reference[..<(mark ?? reference.endIndex)].sanitized(keeping: .path)
    let referenceQuery = mark.map { reference[reference.utf8.index(after: $0)...].sanitized(keeping: .query) }
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
  /// The text without spaces and tabs at both ends, and with `%20` in place of other spaces.
  fileprivate var trimmedWithoutSpaces: String {
    var result = ""
    for scalar in self[...].withoutBlanks.unicodeScalars {
      if scalar == " " { result += "%20" } else { result.unicodeScalars.append(scalar) }
    }
    return result
  }
}
