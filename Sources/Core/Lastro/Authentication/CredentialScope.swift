// SPDX-License-Identifier: Apache-2.0

/// The origins that may receive credentials.
struct CredentialScope: Sendable {
  let origins: [Origin]

  /// Checks the origins.
  ///
  /// - Parameters:
  ///   - origins: the origins; at least one.
  ///   - allowsInsecureOrigins: whether credentials may be sent over `http` to another machine.
  ///   - Throws: ``ConfigurationError`` if there is no origin, or an insecure one that is not allowed.
  init(_ origins: [Origin], allowsInsecureOrigins: Bool) throws(ConfigurationError) {
    guard !origins.isEmpty else {
      throw ConfigurationError(
        "the list of origins that may see the credentials is empty",
        hint: "name at least one, such as try Origin(\"https://api.example\")")
    }
    for origin in origins where !allowsInsecureOrigins && !origin.keepsSecrets {
      throw ConfigurationError(
        "the credentials would go to \(origin) without encryption",
        hint: "use https, or set allowsInsecureOrigins: true to send them anyway")
    }
    self.origins = origins
  }

  /// Returns whether a request goes to one of the origins.
  func covers(_ request: ResourceRequest) -> Bool { origin(of: request) != nil }

  /// Returns the origin of a request; `nil` if it is not in the scope.
  func origin(of request: ResourceRequest) -> Origin? {
    Origin(request.head).flatMap { origins.contains($0) ? $0 : nil }
  }
}

extension String {
  /// Whether the text has a control character (RFC 5234 `CTL`, and U+0080 to U+009F).
  var hasControlCharacter: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
