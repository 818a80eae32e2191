// SPDX-License-Identifier: Apache-2.0

package import Lastro
internal import LastroSupport

/// The tokens that the demo API has issued, with their expiry.
package final class DemoTokens: Sendable {
  /// The result of a token request (RFC 6749 §5.1).
  struct Grant: Encodable, Sendable {
    var accessToken: String
    var tokenType = "Bearer"
    var lifetime: Int
    var refreshToken: String?

    enum CodingKeys: String, CodingKey {
      case accessToken = "access_token"
      case tokenType = "token_type"
      case lifetime = "expires_in"
      case refreshToken = "refresh_token"
    }
  }

  private struct State {
    var lifetime: Int
    var expiries: [String: Duration] = [:]
    /// Live refresh tokens, each with the family it descends from.
    var refreshTokens = ["demo-refresh-token": 0]
    /// Rotated refresh tokens: a repeated one was stolen, or used twice.
    var spent: [String: Int] = [:]
    var families = 0
    var serial = 0
    var requests = 0
    var grants = 0
  }

  private let time: TimeSource
  private let state: Lock<State>

  package init(lifetime: Int, time: TimeSource) {
    self.time = time
    state = Lock(State(lifetime: lifetime))
  }

  package var lifetime: Int {
    get { state.withLock { $0.lifetime } }
    set { state.withLock { $0.lifetime = newValue } }
  }
  package var requests: Int { state.withLock { $0.requests } }
  package var grants: Int { state.withLock { $0.grants } }

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
  package func makeRefreshToken() -> String {
    state.withLock { state in
      state.families += 1
      return Self.refreshToken(&state, family: state.families)
    }
  }

  /// Revokes every access token, and returns their number.
  @discardableResult
  package func revokeAccess() -> Int {
    state.withLock { state in
      defer { state.expiries = [:] }
      return state.expiries.count
    }
  }

  package func revokeRefresh() { state.withLock { $0.refreshTokens = [:] } }

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
