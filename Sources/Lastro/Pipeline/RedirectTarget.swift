// SPDX-License-Identifier: Apache-2.0

private import LastroWire

/// Where a `Location` leads: a reference resolved against the URL that was asked (RFC 3986 §5.2, RFC 9110 §10.2.2).
package struct RedirectTarget: Equatable {
  package var target: RequestTarget
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
  package init(_ location: String, base: RequestTarget, fragment inherited: String?) throws(TransportError) {
    // By bytes: a combining mark makes another `Character` of a delimiter, but no other delimiter.
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
  var absolute: String { "\(scheme)://\(authority)\(pathAndQuery)" }

  /// Takes path and query of a reference that has neither scheme nor authority.
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
  /// Without spaces and tabs at both ends, and with `%20` for those inside.
  fileprivate var trimmedWithoutSpaces: String {
    var result = ""
    for scalar in self[...].withoutBlanks.unicodeScalars {
      if scalar == " " { result += "%20" } else { result.unicodeScalars.append(scalar) }
    }
    return result
  }
}
