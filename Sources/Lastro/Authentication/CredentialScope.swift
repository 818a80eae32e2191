// SPDX-License-Identifier: Apache-2.0

/// The origins that credentials may be sent to.
struct CredentialScope: Sendable {
  let origins: [Origin]

  /// Checks origins.
  ///
  /// - Parameters:
  ///   - origins: at least one.
  ///   - allowsInsecureOrigins: whether `http` may carry them to another machine.
  /// - Throws: ``ConfigurationError``.
  init(_ origins: [Origin], allowsInsecureOrigins: Bool) throws(ConfigurationError) {
    guard !origins.isEmpty else {
      throw ConfigurationError(
        "the list of origins that may see the credentials is empty",
        hint: "name at least one, such as try Origin(\"https://api.example\")")
    }
    for origin in origins where !allowsInsecureOrigins && !origin.keepsSecrets {
      throw ConfigurationError(
        "the credentials would go to \(origin) without encryption",
        hint: "use https; allowsInsecureOrigins: true sends them all the same")
    }
    self.origins = origins
  }

  /// Whether a request goes to one of them.
  func covers(_ request: ResourceRequest) -> Bool { origin(of: request) != nil }

  /// Where a request goes; `nil` when that is not in the scope.
  func origin(of request: ResourceRequest) -> Origin? {
    Origin(request.head).flatMap { origins.contains($0) ? $0 : nil }
  }
}

extension String {
  /// Whether a control character is in it (RFC 5234 `CTL`, and U+0080 to U+009F).
  var hasControlCharacter: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
