// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting

extension Step {
  static let pinning = Step(
    title: "A pinned key",
    explanation: """
      A policy names the keys that a host may have. Another key is rejected during the handshake, although its chain is
      valid. No byte of the request is sent, and the error has the key that was presented and the pins.
      """
  ) { stage in
    let site = try PinnedSite()
    let backup = try site.authority.issue(hosts: ["localhost"])
    let evaluator = ServerTrustEvaluator(configuration: try PinnedSite.pins(site.key, backup))
    let bank = try site.stack(evaluator)
    stage.asked("fetch(balance), with the server's key and a backup pinned")
    let balance = try await bank.fetch(site.balance)
    stage.came("\(balance.response.status): \(balance.value)")
    try stage.check("the connection is pinned", balance.response.facts.trust == .pinned)

    let impostor = try PinnedSite(site.authority)
    let other = ServerTrustEvaluator(configuration: try PinnedSite.pins(site.key, backup))
    let deceived = try impostor.stack(other)
    stage.asked("the same, of a server with a valid certificate for another key")
    do throws(HTTPFetchError<ForgeError>) {
      _ = try await deceived.fetch(impostor.balance)
    } catch {
      stage.came("\(error)")
      if let failure = error.trustFailure {
        for line in "\(failure)".split(separator: "\n").dropFirst(2) { stage.say("  \(line)") }
      }
      try stage.check("it is refused for its key", error.trustFailure?.reason == .noPinMatches)
      try stage.check("and never retried", error.ledger.attempts.map(\.requestSent) == [false])
      try stage.check("the server got nothing", impostor.server.receivedBytes == 0)
      return
    }
    try stage.check("another key is refused", false)
  }

  static let keyRotation = Step(
    title: "A key is rotated",
    explanation: """
      The new pin is added, the server changes its key, and the old pin is removed. The stack stays the same, because a
      new policy applies to the next request.
      """
  ) { stage in
    let site = try PinnedSite()
    let next = try site.authority.issue(hosts: ["localhost"])
    let backup = try site.authority.issue(hosts: ["localhost"])
    let evaluator = ServerTrustEvaluator(configuration: try PinnedSite.pins(site.key, backup))
    let bank = try site.stack(evaluator)
    _ = try await bank.fetch(site.balance)

    stage.asked("a configuration with the old key, the new one, and the backup; then fetch(balance)")
    evaluator.configuration = try PinnedSite.pins(site.key, next, backup)
    let added = try await bank.fetch(site.balance)
    stage.came("\(added.value), on a new connection")
    try stage.check("the new policy was applied to a new connection", !added.response.facts.connectionReused)

    stage.say("the server changes its key; open connections stay in use")
    try site.server.replaceTLS(LoopbackTLS(next))
    let standing = try await bank.fetch(site.balance)
    try stage.check("the old connection serves", standing.response.facts.connectionReused)

    stage.asked("a configuration with the new key and the backup; then fetch(balance)")
    evaluator.configuration = try PinnedSite.pins(next, backup)
    let rotated = try await bank.fetch(site.balance)
    stage.came("\(rotated.value), pinned to the new key")
    try stage.check(
      "no connection of the old key serves any more",
      rotated.response.facts.trust == .pinned && !rotated.response.facts.connectionReused)
    try stage.check("the server got four requests", site.server.requests.count == 4)
  }
}
