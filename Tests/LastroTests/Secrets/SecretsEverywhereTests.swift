// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Lastro

@Suite("Secrets by type")
struct SecretsEverywhereTests {
  @Test("nothing that comes out of a fetch has a secret in it", arguments: SeedStride.some(of: SecretScenario.allCases))
  func nothing(scenario: SecretScenario) async throws { try await Self.check(scenario, body: .json) }

  @Test(
    "nor where the body is a form",
    arguments: [SecretScenario.succeeds, .statusAfterRedirect, .transportFails, .undecodable])
  func nothingOfForms(scenario: SecretScenario) async throws { try await Self.check(scenario, body: .form) }

  static func check(_ scenario: SecretScenario, body: SecretEndpoint.Body) async throws {
    let fetch = SecretFetch(scenario: scenario, endpoint: SecretEndpoint(body: body))
    try await fetch.run()
    // Most are the same as others: one place of each is enough.
    let outputs = Dictionary(fetch.all.map { ($0.text, $0.place) }) { first, _ in first }
    #expect(outputs.count > 20)
    for (text, place) in outputs {
      // The search takes long, and others that run meanwhile have limits in time.
      await Task.yield()
      let found = Planted.found(in: text)
      #expect(found.isEmpty, "\(place) has \(found): \(text.prefix(2000))")
    }
  }

  @Test(
    "the search finds the same texts where they are not marked", arguments: SeedStride.some(of: SecretScenario.allCases)
  )
  func control(scenario: SecretScenario) async throws {
    let fetch = SecretFetch(scenario: scenario, endpoint: SecretEndpoint(isMarked: false))
    try await fetch.run()
    #expect(fetch.all.contains { !Planted.found(in: $0.text).isEmpty })
  }
}
