// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport

/// The shared state of one token, as it is kept in a store. Times are in milliseconds of the store's clock.
struct TokenRecord: Sendable, Hashable, Codable {
  /// An access token, and the refresh token that replaces it.
  struct Pair: Sendable, Hashable, Codable {
    var value: String
    var refreshToken: String?
    var scope: String?
    /// The time at which the access token expires; `nil` if that is not known.
    var expiry: Int64?
    /// The type of the access token; `nil` in a record of an earlier version, which means `Bearer`.
    var type: String?

    init(_ token: AccessToken, at now: Int64) {
      value = token.value.reveal()
      refreshToken = token.refreshToken?.reveal()
      scope = token.scope
      expiry = token.expiresIn.map { now + $0.wholeMilliseconds }
      type = token.type
    }

    /// Returns the token with its remaining lifetime; `nil` if the value is not valid.
    func token(at now: Int64) -> AccessToken? {
      try? AccessToken(
        Secret(value), expiresIn: expiry.map { .milliseconds(max(0, $0 - now)) },
        refreshToken: refreshToken.map { Secret($0) }, scope: scope, type: type ?? "Bearer")
    }

    func isValid(at now: Int64) -> Bool { expiry.map { $0 > now } ?? true }
  }

  /// An instance that spends the refresh token, as announced before it sends the request.
  struct Spender: Sendable, Hashable, Codable {
    var instance: String
    /// The time at which the others stop to wait for it.
    var until: Int64
  }

  /// The name of the token. A value that was copied from another key is not taken for this one.
  var name: String
  /// The number of pairs so far.
  var generation: UInt64 = 0
  var pair: Pair?
  var spender: Spender?

  /// Returns the sealed form, which differs each time.
  func sealed(with key: SealingKey) throws(FleetStoreError) -> [UInt8] {
    guard let json = try? JSONEncoder().encode(self) else {
      throw FleetStoreError(.unreadable, "the token cannot be encoded", hint: "look at the token source")
    }
    return try key.sealed(Array(json))
  }

  /// Reads the sealed form. The first key that fits opens it.
  ///
  /// - Throws: ``FleetStoreError`` if no key fits, or the value is of another token.
  init(sealed: [UInt8], keys: [SealingKey], name: String) throws(FleetStoreError) {
    for key in keys {
      guard let json = try key.opened(sealed) else { continue }
      guard let record = try? JSONDecoder().decode(Self.self, from: Data(json)), record.name == name else {
        throw FleetStoreError(
          .unreadable, "the shared token \(name) is not a token of that name", hint: "use another name for the token")
      }
      self = record
      return
    }
    throw FleetStoreError(
      .unreadable, "the shared token \(name) was sealed with another key, or was changed",
      hint: "give all instances the same keys, also the earlier one while it is replaced")
  }

  init(name: String) { self.name = name }
}
