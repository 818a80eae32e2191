// SPDX-License-Identifier: Apache-2.0

/// The origins that credentials may be sent to.
struct CredentialScope: Sendable {
  let origins: [Origin]

  /// Checks origins.
  ///
  /// - Parameters:
  ///   - origins: at least one.
  ///   - allowsCleartext: whether `http` may carry them to another machine.
  /// - Throws: ``ConfigurationError``.
  init(_ origins: [Origin], allowsCleartext: Bool) throws(ConfigurationError) {
    guard !origins.isEmpty else {
      throw ConfigurationError(
        "the credentials are for no origin",
        hint: "name those that may see them, such as Origin(\"https://api.example\")")
    }
    for origin in origins where origin.scheme != "https" && !allowsCleartext && !origin.isLoopback {
      throw ConfigurationError(
        "the credentials would go to \(origin) in clear", hint: "use https, or say allowsCleartext: true")
    }
    self.origins = origins
  }

  /// Whether a request goes to one of them.
  func covers(_ request: ResourceRequest) -> Bool { origin(of: request) != nil }

  /// Where a request goes; `nil` when that is none of them.
  func origin(of request: ResourceRequest) -> Origin? {
    Origin(request.head).flatMap { origins.contains($0) ? $0 : nil }
  }
}

extension Origin {
  /// Whether it is this machine: `localhost` and names below it (RFC 6761 §6.3), 127.0.0.0/8, and `[::1]`.
  var isLoopback: Bool {
    // A host that begins so and is no address has letters in it, for its last label is then no number.
    host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
      || host.hasPrefix("127.") && host.utf8.allSatisfy { $0.isDigit || $0 == UInt8(ascii: ".") }
  }
}

extension String {
  /// Whether a control character is in it (RFC 5234 `CTL`, and U+0080 to U+009F).
  var hasControlCharacter: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
