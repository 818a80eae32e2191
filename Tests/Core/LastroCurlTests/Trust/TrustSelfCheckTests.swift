// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroHTTP
import LastroTesting
import TestSupport
import Testing

@testable import LastroCurl

@Suite("Self-check of libcurl and OpenSSL before pins are used")
struct TrustSelfCheckTests {
  @Test("All checks pass with the libraries of this machine")
  func holds() throws {
    #expect(TrustSelfCheck().firstBroken() == nil)
    try TrustSelfCheck.require()
  }

  @Test("A library that deviates in one point is detected by that point", arguments: TrustAssumption.allCases)
  func broken(_ assumption: TrustAssumption) {
    #expect(TrustSelfCheck(broken: assumption).firstBroken() == assumption)
  }

  @Test("The refusal names the point and the versions", arguments: TrustAssumption.allCases)
  func text(_ assumption: TrustAssumption) {
    let error = TransportError.brokenAssumption(assumption)
    #expect(error.stage == .trust)
    #expect(error.code == .trustRefused)
    #expect(!error.requestSent)
    #expect(error.message.contains(assumption.rawValue))
    #expect(error.message.contains("libcurl \(CurlCapabilities.current.curlVersion)"))
    #expect(error.message.contains(CurlCapabilities.current.tlsBackend))
  }

  @Test("With such a library connections that need a judge are refused, and others are not")
  func partitions() throws {
    let turn = TurnShare(bytes: 1 << 16)
    let judge = ScriptedJudge { _, _ in .success(.validated) }
    let refusal = TransportError.brokenAssumption(.hook)
    let check = { () throws(TransportError) in throw refusal }
    for (standing, own) in [(judge, nil), (nil, judge)] as [(ScriptedJudge?, ScriptedJudge?)] {
      var options = TLSOptions()
      options.trustJudge = own
      let error = #expect(throws: TransportError.self) {
        _ = try TLSTerms(options, standing: standing, turn: turn, check: check)
      }
      #expect(error?.message == refusal.message)
    }
    var options = TLSOptions()
    options.peer = .ids("spiffe://a.test/x")
    #expect(throws: TransportError.self) { _ = try TLSTerms(options, standing: nil, turn: turn, check: check) }
    _ = try TLSTerms(TLSOptions(), standing: nil, turn: turn, check: check)
  }
}
