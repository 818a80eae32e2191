// SPDX-License-Identifier: Apache-2.0

import Lastro

extension Phase {
  /// Returns the phases in order. All servers recover after each phase with a fault. `pins` is the evaluator that the
  /// shop uses, and `users` is the number of simultaneous users.
  static func all(_ upstreams: Upstreams, _ pins: ServerTrustEvaluator, users: Int) -> [Phase] {
    // Ten failures open a circuit. By then each user may have sent a request and started a retry.
    let most = 10 + 2 * users
    let prices = upstreams.prices
    let stock = upstreams.stock
    let rates = upstreams.rates
    return [
      Phase(name: "all is well") {},
      Phase(name: "prices refuse connections", lacks: [.price], failing: prices, most: most) {
        try prices.turn(.down)
      },
      Phase(name: "prices never answer", lacks: [.price], failing: prices, most: most) { try prices.turn(.silent) },
      Phase(name: "prices answer 500", lacks: [.price], failing: prices, most: most) { try prices.turn(.failing) },
      revoked(upstreams.tokens),
      Phase(name: "prices take the backup key") { try prices.present(upstreams.backup) },
      rotated(upstreams, pins),
      impostor(upstreams),
      Phase(name: "stock answers 500", lacks: [.freshCount], failing: stock, most: most) { try stock.turn(.failing) },
      Phase(name: "stock refuses connections", lacks: [.freshCount], failing: stock, most: most) {
        try stock.turn(.down)
      },
      Phase(name: "stock never answers", lacks: [.freshCount], failing: stock, most: most) {
        try stock.turn(.silent)
      },
      Phase(name: "one rates server never answers", failing: rates[0], most: most) { try rates[0].turn(.silent) },
      Phase(name: "both refuse connections", lacks: [.currency], failing: rates[1], most: most) {
        for server in rates { try server.turn(.down) }
      },
      Phase(name: "all refuse connections", lacks: [.freshCount, .price, .currency], failing: stock, most: most) {
        for server in upstreams.all { try server.turn(.down) }
      },
      Phase(name: "all is well again") {},
    ]
  }

  private static func revoked(_ tokens: IssuedTokens) -> Phase {
    Phase(
      name: "the token is revoked", begin: { tokens.revoke() },
      watch: {
        let before = tokens.count
        return {
          tokens.count == before + 1 ? [] : ["\(tokens.count - before) tokens were asked for, where one will do"]
        }
      })
  }

  private static func rotated(_ upstreams: Upstreams, _ pins: ServerTrustEvaluator) -> Phase {
    Phase(name: "new pins, then the new key") {
      pins.configuration = try ShopStacks.pinning([upstreams.next.pin.description, upstreams.backup.pin.description])
      try upstreams.prices.present(upstreams.next)
    }
  }

  private static func impostor(_ upstreams: Upstreams) -> Phase {
    let prices = upstreams.prices
    return Phase(
      name: "an impostor has the prices", lacks: [.price], end: { try prices.present(upstreams.next) },
      begin: { try prices.present(upstreams.impostor) },
      watch: {
        let before = prices.server.requests.count
        return { prices.server.requests.count == before ? [] : ["the impostor has read a request"] }
      })
  }
}
