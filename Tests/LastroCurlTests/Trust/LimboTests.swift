// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import Testing

/// The chains of x509-limbo, each over a connection of its own. Where we differ stands in ``LimboDifferences``, each with
/// its reason, and the table is exact: a change to either side fails.
@Suite("Conformance: x509-limbo", .timeLimit(.minutes(5)))
struct LimboTests {
  @Test("what can be served")
  func selection() throws {
    let all = try LimboCase.all()
    #expect(all.count == 208)
    let servers = all.filter { $0.kind == .server }
    #expect(servers.count == 198)
    #expect(servers.count { $0.privateKey == nil } == 19)
    // Ten more depend on a clock or on revocation lists, and one names no host.
    #expect(servers.count { $0.isServable } == 168)
    #expect(servers.count { $0.isServable && $0.expectation == .success } == 39)
  }

  @Test("every chain")
  func standard() async throws {
    let outcomes = try await outcomes()
    expect(outcomes, differingBy: LimboDifferences.standard)
    // Server and client have no cipher in common for these, so that no chain is sent.
    let early = outcomes.filter { $0.value.outcome == .refused("tls/handshake_failed") }.keys.sorted()
    #expect(early == ["webpki::forbidden-dsa-leaf", "webpki::forbidden-p192-leaf"])
  }

  @Test("every chain, strictly")
  func strict() async throws {
    expect(try await outcomes { $0.chainChecks = .strict }, differingBy: LimboDifferences.strict)
  }

  private typealias Outcomes = [String: (test: LimboCase, outcome: LimboOutcome)]

  /// Every case that can be served, one after the other: their number is that of the handshakes.
  private func outcomes(adapting adapt: (inout TLSOptions) -> Void = { _ in }) async throws -> Outcomes {
    let stack = try CurlNetworkStack.direct()
    var found: Outcomes = [:]
    for test in try LimboCase.all() where test.isServable {
      found[test.id] = (test, try await test.fetched(by: stack, adapting: adapt))
    }
    return found
  }

  private func expect(
    _ outcomes: Outcomes, differingBy known: [String: LimboDifferences.Reason],
    location: SourceLocation = #_sourceLocation
  ) {
    let different = outcomes.filter { !$0.value.outcome.satisfies($0.value.test.expectation) }
    let unknown = different.filter { known[$0.key] == nil }.map { "\($0.key): \($0.value.outcome)" }
    #expect(unknown.sorted() == [], "judged otherwise, and not in the table", sourceLocation: location)
    let alike = known.keys.filter { different[$0] == nil }
    #expect(alike.sorted() == [], "in the table, and judged alike", sourceLocation: location)
    // A difference is a decision: never one that OpenSSL could not present, or that failed elsewhere than in TLS.
    for (id, item) in different {
      let isDecision = item.outcome == .accepted || item.outcome.description.hasPrefix("refused: tls/")
      if case .noHost = known[id] { continue }
      #expect(isDecision, "\(id): \(item.outcome)", sourceLocation: location)
    }
  }
}
