// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting
import Testing

/// Carrier × bypass: what ``BypassTests`` tries over HTTP with all that HTTP has, tried over each carrier. What counts is what the
/// server saw.
@Suite("Trust: carrier × bypass", .timeLimit(.minutes(5)))
struct BypassTableTests {
  private let lab: TrustLab

  init() throws { lab = try TrustLab() }

  @Test("each cell of the table is tried, or has a reason", arguments: Carrier.allCases)
  func cells(_ carrier: Carrier) async throws {
    for bypass in Bypass.allCases {
      if let reason = bypass.isImpossible(over: carrier) {
        #expect(!reason.isEmpty)
      } else if bypass.testOverHTTP == nil {
        try await attempt(bypass, over: carrier)
      } else {
        // In BypassTests, which HTTP alone needs.
        #expect(carrier == .fetch)
      }
    }
  }

  private func attempt(_ bypass: Bypass, over carrier: Carrier) async throws {
    switch bypass {
    case .manInTheMiddle:
      for version in [LoopbackTLS.Version.tls12, .tls13] { try await manInTheMiddle(carrier, version) }
    case .requestWithoutJudge: try await ownOptions(carrier, nil)
    case .requestWithMildJudge: try await ownOptions(carrier, ScriptedJudge { _, _ in .accepted(.validated) })
    case .plaintext: try await plaintext(carrier)
    case .policySwappedBetween: try await policySwappedBetween(carrier)
    case .policySwappedInHandshake: try await policySwappedInHandshake(carrier)
    case .rulesWithoutEnd: try await rulesWithoutEnd(carrier)
    case .connectionFromBefore: try await connectionFromBefore(carrier)
    case .ticketFromBefore:
      for version in [LoopbackTLS.Version.tls12, .tls13] { try await ticketFromBefore(carrier, version) }
    case .certificateSwapped: try await certificateSwapped(carrier)
    case .redirect, .silentResend, .streamOfAnotherRequest, .unfinishedHandshake:
      Issue.record("\(bypass) has no attempt over \(carrier)")
    }
  }

  private func server(
    _ tls: LoopbackTLS? = nil, closes: Bool = false
  ) throws -> (LoopbackServer, LoopbackTLS) {
    let tls = try tls ?? LoopbackTLS(lab.identity("localhost"))
    let server = try LoopbackServer.http(tls: tls) { _ in
      let answer = LoopbackResponse.text("answer")
      return closes ? answer.adding("Connection", "close") : answer
    }
    return (server, tls)
  }

  private func pinned(_ tls: LoopbackTLS) throws -> ServerTrustEvaluator {
    try TrustLab.evaluator(TrustLab.policy("localhost", TrustLab.pin(tls.identity)))
  }

  private func refusing() throws -> ServerTrustEvaluator {
    try TrustLab.evaluator(TrustLab.policy("localhost", TrustLab.absent))
  }

  // MARK: The attempts

  private func manInTheMiddle(_ carrier: Carrier, _ version: LoopbackTLS.Version) async throws {
    var tls = LoopbackTLS(try lab.identity("localhost"))
    tls.maximumVersion = version
    let (server, _) = try server(tls)
    #expect(try await CarrierClient(carrier, lab, judge: refusing()).send(to: server) == "trust/pin_mismatch")
    #expect(server.receivedBytes == 0 && server.requests.isEmpty)
    #expect(try await CarrierClient(carrier, lab, judge: pinned(tls)).send(to: server) == "pinned")
  }

  private func ownOptions(_ carrier: Carrier, _ judge: (any ServerTrustJudge)?) async throws {
    let (server, _) = try server()
    let client = try CarrierClient(carrier, lab, judge: refusing())
    let options = CarrierClient.options(lab, judge)
    #expect(await client.send(to: server, options: options) == "trust/pin_mismatch")
    #expect(server.receivedBytes == 0)
  }

  private func plaintext(_ carrier: Carrier) async throws {
    let server = try LoopbackServer.http { _ in .text("answer") }
    #expect(try await CarrierClient(carrier, lab, judge: refusing()).send(to: server) == "trust/plaintext_refused")
    #expect(server.acceptedConnections == 0)
  }

  private func policySwappedBetween(_ carrier: Carrier) async throws {
    let (server, tls) = try server()
    let judge = try pinned(tls)
    let client = try CarrierClient(carrier, lab, judge: judge)
    #expect(await client.send(to: server) == "pinned")
    let received = server.receivedBytes
    judge.replaceConfiguration(try TrustLab.configuration(TrustLab.policy("localhost", TrustLab.absent)))
    #expect(await client.send(to: server) == "trust/pin_mismatch")
    #expect(server.requests.count == 1 && server.receivedBytes == received)
  }

  private func policySwappedInHandshake(_ carrier: Carrier) async throws {
    let (server, _) = try server()
    // Accepts, and has changed its mind before anything is sent.
    let judge = ScriptedJudge { trust, judge in
      guard judge.revision == 0 else { return .refused(TrustFailure(.refused("changed"), trust: trust)) }
      judge.changeRules()
      return .accepted(.validated)
    }
    #expect(try await CarrierClient(carrier, lab, judge: judge).send(to: server) == "trust/trust_refused")
    #expect(server.receivedBytes == 0)
  }

  private func rulesWithoutEnd(_ carrier: Carrier) async throws {
    let (server, _) = try server()
    let judge = ScriptedJudge { _, judge in
      judge.changeRules()
      return .accepted(.validated)
    }
    #expect(try await CarrierClient(carrier, lab, judge: judge).send(to: server) == "trust/trust_refused")
    #expect(server.receivedBytes == 0)
  }

  private func connectionFromBefore(_ carrier: Carrier) async throws {
    let (server, tls) = try server()
    let client = try CarrierClient(carrier, lab, judge: nil)
    #expect(await client.send(to: server) == "validated")
    #expect(
      try await client.send(to: server, options: CarrierClient.options(lab, refusing())) == "trust/pin_mismatch")
    #expect(server.requests.count == 1)
    #expect(try await client.send(to: server, options: CarrierClient.options(lab, pinned(tls))) == "pinned")
    #expect(server.requests.count == 2 && server.establishedConnections >= 2)
  }

  private func ticketFromBefore(_ carrier: Carrier, _ version: LoopbackTLS.Version) async throws {
    var tls = LoopbackTLS(try lab.identity("localhost"))
    tls.maximumVersion = version
    let (server, _) = try server(tls, closes: true)
    let judge = try TrustLab.evaluator(TrustLab.policy("other.test", TrustLab.absent))
    let client = try CarrierClient(carrier, lab, judge: judge)
    for _ in 0..<2 { #expect(await client.send(to: server) == "validated") }
    judge.replaceConfiguration(try TrustLab.configuration(TrustLab.policy("localhost", TrustLab.absent)))
    #expect(await client.send(to: server) == "trust/pin_mismatch")
    #expect(server.requests.count == 2 && server.resumedHandshakes == 0)
  }

  private func certificateSwapped(_ carrier: Carrier) async throws {
    let (server, tls) = try server(closes: true)
    let client = try CarrierClient(carrier, lab, judge: pinned(tls))
    #expect(await client.send(to: server) == "pinned")
    // With the same key the pin stays.
    let renewed = try lab.authority.issue(hosts: ["localhost"], privateKeyPEM: tls.identity.privateKeyPEM)
    try server.replaceTLS(LoopbackTLS(renewed))
    #expect(await client.send(to: server) == "pinned")
    try server.replaceTLS(LoopbackTLS(lab.identity("localhost")))
    #expect(await client.send(to: server) == "trust/pin_mismatch")
    #expect(server.requests.count == 2)
  }
}
