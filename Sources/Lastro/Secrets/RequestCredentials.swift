// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// The credentials in the header fields of a request, and the sender that they identify.
///
/// ``Redaction/isCredential(_:)`` decides which fields count. The value of a field that stays the same identifies the
/// sender as a whole. A signature, a nonce or a CSRF token is another in every request: such a field identifies the
/// sender by the user or key id in it, or not at all.
package struct RequestCredentials: Sendable, Hashable {
  /// The fields that identify the sender by their whole value.
  package private(set) var stable: [HTTPField.Name] = []
  /// The fields that change with each request, and name the sender's user or key.
  package private(set) var keyed: [HTTPField.Name] = []
  /// The fields that change with each request, and name neither a user nor a key.
  package private(set) var unattributed: [HTTPField.Name] = []
  /// A text that is equal for requests of the same sender, as far as the fields tell: a secret. Empty without
  /// credentials.
  package private(set) var identity = ""
  /// Whether fields other than `Cookie` and `Proxy-Authorization` carry a credential.
  package private(set) var isAuthorized = false

  package var isEmpty: Bool { stable.isEmpty && keyed.isEmpty && unattributed.isEmpty }

  /// Reads the credentials of a request.
  ///
  /// - Parameters:
  ///   - fields: its header fields.
  ///   - redaction: what is secret in them.
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
    // They are bound to the session or the token beside them.
    if !(stable + keyed).contains(where: { $0 != .proxyAuthorization }) { unattributed += companions }
    guard stable.isEmpty || !keyed.isEmpty || !unattributed.isEmpty else {
      identity = lines.sorted().joined()
      return
    }
    if !keyed.isEmpty { lines += Self.unsentSecrets(fields, redaction) }
    // Equal for requests with the same values only.
    for name in unattributed { lines += fields[values: name].map { "\(name.canonicalName)=\($0)\n" } }
    identity = lines.sorted().joined()
  }

  /// The secrets that are not sent, such as the password behind a digest: they tell senders apart that claim the same
  /// user name.
  private static func unsentSecrets(_ fields: HTTPFields, _ redaction: Redaction) -> [String] {
    redaction.secrets.map { $0.reveal() }
      .filter { secret in !secret.isEmpty && !fields.contains { $0.value.contains(secret) } }
      .map { "secret \($0.utf8.count) \($0)\n" }
  }
}

extension Redaction {
  /// Whether a header field carries a credential: its name is secret, or a part of its value is masked.
  ///
  /// This is the one rule for caches, redirects, uploads and logs.
  func isCredential(_ field: HTTPField) -> Bool {
    isSecret(field.name) || text(field.value) != field.value
      // Texts are not searched for short secrets.
      || secrets.contains { $0.reveal() == field.value }
  }
}

extension ResourceRequest {
  /// The names of its fields that must not be sent to another origin: those that carry a credential, and those that
  /// describe the relation to this origin.
  package var fieldsBoundToOrigin: Set<HTTPField.Name> {
    let redaction = Redaction.standard.adding(self)
    return Set(
      head.headerFields.lazy
        .filter { $0.name == .origin || $0.name == .wwwAuthenticate || redaction.isCredential($0) }.map(\.name))
  }
}

extension TransferRequest {
  /// The credentials in its header fields.
  package var credentials: RequestCredentials {
    RequestCredentials(of: head.headerFields, Redaction.standard.adding(resourceRequest))
  }
}
