// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The credentials in the header fields of a request, and the identity of their sender.
///
/// ``Redaction/isCredential(_:)`` decides which fields count. A field whose value is the same in every request
/// identifies the sender by its whole value. A signature, a nonce or a CSRF token changes with every request: such a
/// field identifies the sender only if it contains a user or key id.
package struct RequestCredentials: Sendable, Hashable {
  /// The fields that identify the sender by their whole value.
  package private(set) var stable: [HTTPField.Name] = []
  /// The fields that change with each request and contain the sender's user name or key id.
  package private(set) var keyed: [HTTPField.Name] = []
  /// The fields that change with each request and contain neither a user name nor a key id.
  package private(set) var unattributed: [HTTPField.Name] = []
  /// A text that is equal for requests of the same sender, as far as the fields show. It is a secret. Empty without
  /// credentials.
  package private(set) var identity = ""
  /// Whether fields other than `Cookie` and `Proxy-Authorization` have a credential.
  package private(set) var isAuthorized = false

  package var isEmpty: Bool { stable.isEmpty && keyed.isEmpty && unattributed.isEmpty }

  /// Reads the credentials of a request.
  ///
  /// - Parameters:
  ///   - fields: the header fields of the request.
  ///   - redaction: the rules for secrets in the fields.
  package init(of fields: HTTPFields, _ redaction: Redaction) {
    var lines: [String] = []
    var companions: [HTTPField.Name] = []
    for field in fields where redaction.isCredential(field) {
      if field.name != .cookie, field.name != .proxyAuthorization { isAuthorized = true }
      switch CredentialSender(of: field, in: fields) {
      case .value:
        stable.append(field.name)
        lines.append("\(field.name.canonicalName):\(field.value)\n")
      case .named(let name):
        keyed.append(field.name)
        lines.append("\(field.name.canonicalName) of \(name.utf8.count) \(name)\n")
      case .companion: companions.append(field.name)
      case .unknown: unattributed.append(field.name)
      }
    }
    // Companion fields are bound to the session or the token in another field.
    if !(stable + keyed).contains(where: { $0 != .proxyAuthorization }) { unattributed += companions }
    guard stable.isEmpty || !keyed.isEmpty || !unattributed.isEmpty else {
      identity = lines.sorted().joined()
      return
    }
    if !keyed.isEmpty { lines += Self.unsentSecrets(fields, redaction) }
    // With these values, the identity is equal only for requests with the same values.
    for name in unattributed { lines += fields[values: name].map { "\(name.canonicalName)=\($0)\n" } }
    identity = lines.sorted().joined()
  }

  /// Returns the secrets that are not sent, such as the password behind a digest. They distinguish senders that use the
  /// same user name.
  private static func unsentSecrets(_ fields: HTTPFields, _ redaction: Redaction) -> [String] {
    redaction.secrets.map { $0.reveal() }
      .filter { secret in !secret.isEmpty && !fields.contains { $0.value.contains(secret) } }
      .map { "secret \($0.utf8.count) \($0)\n" }
  }
}

extension Redaction {
  /// Returns whether a header field has a credential: its name is secret, or a part of its value is masked.
  ///
  /// Caches, redirects, uploads and logs all use this rule.
  func isCredential(_ field: HTTPField) -> Bool {
    isSecret(field.name) || text(field.value) != field.value
      // Compare whole values as well: short secrets are not searched for in texts.
      || secrets.contains { $0.reveal() == field.value }
  }
}

extension TransferRequest {
  /// The credentials in the header fields of the request.
  package var credentials: RequestCredentials {
    RequestCredentials(of: head.headerFields, Redaction.standard.adding(resourceRequest))
  }
}
