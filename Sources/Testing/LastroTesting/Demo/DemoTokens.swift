// SPDX-License-Identifier: Apache-2.0

import Lastro
internal import LastroSupport

/// The tokens that ``DemoAPI`` has issued, with their expiry.
final class DemoTokens: Sendable {
  /// The result of a token request.
  struct Grant: Sendable {
    var accessToken: String
    var lifetime: Int
    var refreshToken: String?
  }

  private struct State {
    var lifetime: Int
    var expiries: [String: Duration] = [:]
    /// Live refresh tokens, each with the family it descends from.
    var refreshTokens: [String: Int] = [:]
    /// Rotated refresh tokens: a repeated one was stolen, or used twice.
    var spent: [String: Int] = [:]
    var families = 0
    var serial = 0
    var requests = 0
    var grants = 0
  }

  private let time: TimeSource
  private let state: Lock<State>

  init(lifetime: Int, time: TimeSource) {
    self.time = time
    state = Lock(State(lifetime: lifetime))
  }

  var lifetime: Int {
    get { state.withLock { $0.lifetime } }
    set { state.withLock { $0.lifetime = newValue } }
  }
  var requests: Int { state.withLock { $0.requests } }
  var grants: Int { state.withLock { $0.grants } }

  func countRequest() { state.withLock { $0.requests += 1 } }

  func isLive(_ accessToken: String) -> Bool {
    let now = time.now()
    return state.withLock { $0.expiries[accessToken].map { now < $0 } ?? false }
  }

  /// Returns a grant for client credentials, which get no refresh token (RFC 6749 §4.4.3).
  func grant() -> Grant {
    let now = time.now()
    return state.withLock { Self.grant(&$0, now: now, refreshToken: nil) }
  }

  /// Returns a grant for a refresh token, which is replaced (RFC 6749 §6); `nil` if it is not valid. A token that was
  /// already replaced revokes its whole family (RFC 9700 §4.14.2).
  func grant(for refreshToken: String) -> Grant? {
    let now = time.now()
    return state.withLock { state in
      guard let family = state.refreshTokens.removeValue(forKey: refreshToken) else {
        if let stolen = state.spent[refreshToken] {
          state.refreshTokens = state.refreshTokens.filter { $0.value != stolen }
        }
        return nil
      }
      state.spent[refreshToken] = family
      return Self.grant(&state, now: now, refreshToken: Self.refreshToken(&state, family: family))
    }
  }

  /// Returns the first refresh token of a new family, as if a user had given consent.
  func makeRefreshToken() -> String {
    state.withLock { state in
      state.families += 1
      return Self.refreshToken(&state, family: state.families)
    }
  }

  func revokeAccess() { state.withLock { $0.expiries = [:] } }

  func revokeRefresh() { state.withLock { $0.refreshTokens = [:] } }

  private static func grant(_ state: inout State, now: Duration, refreshToken: String?) -> Grant {
    state.serial += 1
    state.grants += 1
    let token = "access-\(state.serial)"
    state.expiries[token] = now + .seconds(state.lifetime)
    return Grant(accessToken: token, lifetime: state.lifetime, refreshToken: refreshToken)
  }

  private static func refreshToken(_ state: inout State, family: Int) -> String {
    state.serial += 1
    let token = "refresh-\(state.serial)"
    state.refreshTokens[token] = family
    return token
  }
}
