// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LastroTesting
import Synchronization

/// A token endpoint for one client (RFC 6749 §4.4).
final class IssuedTokens: Sendable {
  static let client = "shop"
  static let secret = "correct-horse"

  private struct State {
    var issued = 0
    var good: Set<String> = []
  }

  private let state = Mutex(State())

  /// The number of tokens that were issued.
  var count: Int { state.withLock { $0.issued } }

  /// Revokes all tokens.
  func revoke() { state.withLock { $0.good = [] } }

  func isGood(_ authorization: String?) -> Bool {
    state.withLock { state in authorization.map { state.good.contains($0) } ?? false }
  }

  func answer(_ request: LoopbackRequest) -> LoopbackResponse {
    let password = Data("\(Self.client):\(Self.secret)".utf8).base64EncodedString()
    guard request.headers["Authorization"] == "Basic \(password)" else {
      return .json(#"{"error":"invalid_client"}"#, status: 401)
    }
    let token = state.withLock { state in
      state.issued += 1
      state.good.insert("Bearer token-\(state.issued)")
      return "token-\(state.issued)"
    }
    return .json(#"{"access_token":"\#(token)","token_type":"Bearer","expires_in":7200}"#)
  }
}
