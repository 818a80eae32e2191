// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import LastroWire

/// The sender of a request and its connection options. A response is stored for this combination.
struct CacheSender: Sendable {
  let principal: String?
  let credentials: RequestCredentials
  /// The connection options as text; empty for the transport's own.
  let way: String
  /// Whether the request presents a client certificate of its own.
  let hasIdentity: Bool
  /// Whether the connection options contain objects that a later request cannot match. Such a request skips the cache.
  let isUnrepeatable: Bool

  init(of request: TransferRequest, principal: String?, _ policy: HTTPCachePolicy) {
    self.principal = principal
    credentials = request.credentials
    let options = request.connection
    way = policy.way + (options.map(ConnectionWay.text) ?? "")
    hasIdentity = options.map { $0.tls.identity != nil || !$0.tls.hostIdentities.isEmpty } ?? false
    isUnrepeatable = options.map { $0.tls.trustJudge != nil || $0.reach.names.map { $0.name == nil } ?? false } ?? false
  }

  /// Whether the request identifies its sender.
  var isCredentialed: Bool { principal != nil || hasIdentity || !credentials.isEmpty }

  /// Whether a later request of the same sender can be recognized.
  func isRecognizable(_ policy: HTTPCachePolicy) -> Bool {
    policy.partitioning != .byPrincipal || principal != nil || credentials.unattributed.isEmpty
  }

  /// Whether a response that is for its sender alone may be stored.
  func mayStoreOwn(_ policy: HTTPCachePolicy) -> Bool {
    isRecognizable(policy) && (policy.storesPersonal || !isCredentialed)
  }

  /// Returns a phrase that says for whom responses are stored.
  func explanation(_ policy: HTTPCachePolicy) -> String {
    if isUnrepeatable { return "not used: the request has a trust judge or a name resolver of its own" }
    let suffix = way.isEmpty ? "" : ", over the same connection options"
    switch policy.partitioning {
    case .common: return "for anyone" + suffix
    case .shared: return "for anyone, as a shared cache" + suffix
    case .byPrincipal: break
    }
    guard isRecognizable(policy) else {
      let changes = credentials.unattributed.count > 1 ? "change" : "changes"
      let names = credentials.unattributed.count > 1 ? "name" : "names"
      // A program that stores nothing personal has no principals either, so the hint would not help.
      let hint = policy.storesPersonal ? ": set RequestOptions.principal" : ""
      return """
        not stored unless public, as \(Self.list(credentials.unattributed)) \(changes) with each request and \(names) no \
        user or key\(hint)
        """
    }
    guard mayStoreOwn(policy) else { return "not stored unless public, as the request has credentials" }
    if principal != nil { return "for its principal" + suffix }
    guard isCredentialed else { return "for requests without credentials" + suffix }
    var parts: [String] = []
    if !credentials.stable.isEmpty { parts.append("the same \(Self.list(credentials.stable))") }
    if !credentials.keyed.isEmpty { parts.append("the same user or key in \(Self.list(credentials.keyed))") }
    if hasIdentity { parts.append("the same client certificate") }
    return "for requests with " + parts.joined(separator: ", and ") + suffix
  }

  private static func list(_ names: [HTTPField.Name]) -> String {
    var seen: Set<HTTPField.Name> = []
    let texts = names.filter { seen.insert($0).inserted }.map(\.rawName)
    guard let last = texts.last, texts.count > 1 else { return texts.first ?? "" }
    return texts.dropLast().joined(separator: ", ") + " and " + last
  }
}
