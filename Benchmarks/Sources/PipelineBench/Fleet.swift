// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroFleet
import LastroResilience

/// A token, a quota and a circuit breaker, which an instance has for itself or shares in a folder.
struct Fleet {
  /// The pause between two calls: 100 calls a second use up the quota.
  static let pause = Duration.milliseconds(10)

  private let folder = FileManager.default.temporaryDirectory.appending(path: "lastro-fleet-\(getpid())").path
  let authenticator: BearerAuthenticator
  let resilience: Resilience

  /// - Parameter isShared: whether the folder of the store is made.
  init(isShared: Bool) throws {
    var source: any AccessTokenSource = LastingSource()
    var pacer = try Pacer(perSecond: 100, burst: 400), breaker = CircuitBreaker()
    if isShared {
      let store = try FileStore(folder: folder)
      let key = try SealingKey(base64: Secret(Data(repeating: 1, count: 32).base64EncodedString()))
      source = try LastingSource().shared(in: store, as: "bench", sealedWith: key)
      // A lease has 120 units, for 1.2 s.
      pacer = try pacer.shared(in: store, as: "bench", whenUnshared: .wait)
      breaker = try breaker.shared(in: store, as: "bench")
    }
    authenticator = try BearerAuthenticator(
      source: source, origins: [Origin("http://127.0.0.1:8080")], allowsInsecureOrigins: true)
    resilience = Resilience(pacer: pacer, breaker: breaker)
  }

  func removeFolder() { try? FileManager.default.removeItem(atPath: folder) }
}

private struct LastingSource: AccessTokenSource {
  func token(replacing old: AccessToken?) async throws -> AccessToken {
    try AccessToken("a", expiresIn: .seconds(3600), refreshToken: "r")
  }
}
