// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemini trust on first use", .timeLimit(.minutes(15)))
struct GeminiFirstUseTests {
  static let start = "gemini://capsule.example/"

  static func certificate(
    _ hosts: [String] = ["capsule.example"], _ validity: CertificateValidity = .days(30)
  ) throws -> MintedCertificate { try CertificateMint.selfSigned(hosts: hosts, validity: validity) }

  static func known(_ certificate: MintedCertificate) throws -> GeminiKnownHost {
    let leaf = try #require(try PeerCertificate.certificates(pem: certificate.certificatePEM).first)
    return GeminiKnownHost(pin: leaf.pin, expires: try #require(leaf.facts).notAfter)
  }

  static func capsule(_ certificate: MintedCertificate?) -> Capsule {
    Capsule(certificate: certificate) { _ in .text("20 x/y\r\nbody") }
  }

  static func client(
    _ capsule: Capsule, _ store: any GeminiKnownHosts, rules: GeminiFirstUseRules = .init(),
    onMismatch: GeminiTrust.ChangeHandler? = nil, time: TimeSource = .continuous
  ) -> GeminiClient {
    var configuration = GeminiConfiguration()
    configuration.trust = .firstUse(storing: store, rules: rules, onMismatch: onMismatch)
    configuration.time = time
    return GeminiClient(dialer: capsule, configuration: configuration)
  }

  static func host(_ name: String = "capsule.example", port: Int = 1965) throws -> GeminiHost {
    try GeminiHost(HostName(name), port: port)
  }

  @Test("A host is remembered and then trusted with its key only")
  func firstUse() async throws {
    let old = try Self.certificate(), new = try Self.certificate()
    let capsule = Self.capsule(old)
    let store = GeminiMemoryKnownHosts()
    let client = Self.client(capsule, store)
    #expect(try await client.fetch(Self.start).facts.trust == .firstUse)
    #expect(try store.all == [Self.host(): Self.known(old)])
    #expect(try await client.fetch(Self.start).facts.trust == .knownHost)
    capsule.show(new)
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start) }
    #expect(error?.stage == .trust && error?.code == .certificateChanged)
    let change = try #require(error?.certificateChange)
    #expect(try change.known == Self.known(old) && change.presented == Self.known(new))
    #expect(try change.host == Self.host())
    #expect(error?.message.contains(change.presented.pin.description) == true)
    #expect(capsule.requests.count == 2)
    #expect(try store.all == [Self.host(): Self.known(old)])
    // Another port counts as another host.
    #expect(try await client.fetch("gemini://capsule.example:1966/").facts.trust == .firstUse)
    #expect(store.all.count == 2)
  }

  @Test(
    "A decision accepts once, replaces the key, or refuses",
    arguments: [
      GeminiTrust.Decision.acceptOnce, .replace, .refuse,
    ])
  func decisions(decision: GeminiTrust.Decision) async throws {
    let old = try Self.certificate(), new = try Self.certificate()
    let capsule = Self.capsule(new)
    let store = GeminiMemoryKnownHosts([try Self.host(): try Self.known(old)])
    let asked = EventRecorder<String>()
    let client = Self.client(
      capsule, store,
      onMismatch: { refusal in
        asked.record(refusal.message)
        return decision
      })
    for round in 1...2 {
      let result = await Task { try await client.fetch(Self.start) }.result
      let isAsked = round == 1 || decision != .replace
      #expect(asked.events.count == (isAsked ? round : 1))
      switch decision {
      case .refuse:
        #expect(throws: GeminiError.self) { try result.get() }
        #expect(capsule.requests.isEmpty)
      case .acceptOnce: #expect(try result.get().facts.trust == .changedHost)
      case .replace: #expect(try result.get().facts.trust == (round == 1 ? .changedHost : .knownHost))
      }
      #expect(try store.all[try Self.host()] == Self.known(decision == .replace ? new : old))
    }
  }

  @Test("A decision applies to the key that was shown, and not to a third one")
  func thirdKey() async throws {
    let old = try Self.certificate(), new = try Self.certificate(), third = try Self.certificate()
    let capsule = Self.capsule(new)
    let store = GeminiMemoryKnownHosts([try Self.host(): try Self.known(old)])
    let asked = EventRecorder<String>()
    let client = Self.client(
      capsule, store,
      onMismatch: { refusal in
        asked.record(refusal.certificateChange?.presented.pin.description ?? "")
        capsule.show(third)
        return asked.events.count == 1 ? .replace : .refuse
      })
    let error = await #expect(throws: GeminiError.self) { try await client.fetch(Self.start) }
    #expect(error?.code == .certificateChanged && capsule.requests.isEmpty)
    #expect(try asked.events == [Self.known(new).pin.description, Self.known(third).pin.description])
    #expect(try store.all[try Self.host()] == Self.known(old))
  }

  @Test("After the old certificate expired a new key is accepted, unless rules treat that as a change")
  func afterExpiry() async throws {
    let old = try Self.certificate(["capsule.example"], .expired), new = try Self.certificate()
    let capsule = Self.capsule(new)
    var strict = GeminiFirstUseRules()
    strict.acceptsNewKeyAfterExpiry = false
    let kept = GeminiMemoryKnownHosts([try Self.host(): try Self.known(old)])
    let error = await #expect(throws: GeminiError.self) {
      try await Self.client(capsule, kept, rules: strict).fetch(Self.start)
    }
    #expect(error?.code == .certificateChanged)
    let store = GeminiMemoryKnownHosts([try Self.host(): try Self.known(old)])
    #expect(try await Self.client(capsule, store).fetch(Self.start).facts.trust == .changedHost)
    #expect(try store.all[try Self.host()] == Self.known(new))
  }

  @Test("A renewed certificate with the same key is accepted, and its expiry is remembered")
  func renewed() async throws {
    let certificate = try Self.certificate()
    var known = try Self.known(certificate)
    known.expires -= 86_400
    let store = GeminiMemoryKnownHosts([try Self.host(): known])
    #expect(try await Self.client(Self.capsule(certificate), store).fetch(Self.start).facts.trust == .knownHost)
    #expect(try store.all[try Self.host()] == Self.known(certificate))
  }

  static let bad: [([String], CertificateValidity, FailureCode)] = [
    (["capsule.example"], .expired, .certificateExpired), (["capsule.example"], .notYetValid, .certificateExpired),
    (["other.example"], .days(30), .hostMismatch), (["*.example"], .days(30), .hostMismatch),
    (["127.0.0.1"], .days(30), .hostMismatch),
  ]

  @Test("Dates and name are checked for known and unknown hosts unless rules disable it; nothing is sent or remembered")
  func rules() async throws {
    var lax = GeminiFirstUseRules()
    lax.checksDates = false
    lax.checksHostName = false
    for (hosts, validity, code) in Self.bad where hosts != ["*.example"] {
      let certificate = try Self.certificate(hosts, validity)
      let capsule = Self.capsule(certificate)
      for isKnown in [false, true] {
        let store = GeminiMemoryKnownHosts(isKnown ? [try Self.host(): try Self.known(certificate)] : [:])
        let error = await #expect(throws: GeminiError.self) { try await Self.client(capsule, store).fetch(Self.start) }
        #expect(error?.stage == .trust && error?.code == code && capsule.requests.isEmpty)
        #expect(store.all.count == (isKnown ? 1 : 0))
      }
      let response = try await Self.client(capsule, GeminiMemoryKnownHosts(), rules: lax).fetch(Self.start)
      #expect(response.facts.trust == .firstUse)
    }
  }

  @Test(
    "Alternative names, wildcards and addresses are matched",
    arguments: [
      (["capsule.example"], "capsule.example", true), (["*.example.com"], "a.example.com", true),
      (["*.example.com"], "a.b.example.com", false), (["*.example.com"], "example.com", false),
      (["127.0.0.1"], "127.0.0.1", true), (["127.0.0.1"], "127.0.0.2", false), (["::1"], "::1", true),
      (["CAPSULE.example"], "capsule.example", true), (["capsule.example"], "notcapsule.example", false),
    ])
  func names(hosts: [String], host: String, isFor: Bool) throws {
    let certificate = try Self.certificate(hosts)
    let leaf = try #require(try PeerCertificate.certificates(pem: certificate.certificatePEM).first)
    #expect(try leaf.isFor(HostName(host)) == isFor)
  }

  @Test("A dialer that presents no certificate is not trusted")
  func noCertificate() async {
    let capsule = Self.capsule(nil)
    let error = await #expect(throws: GeminiError.self) {
      try await Self.client(capsule, GeminiMemoryKnownHosts()).fetch(Self.start)
    }
    #expect(error?.stage == .trust && error?.code == .trustRefused && capsule.requests.isEmpty)
  }

  @Test("A certificate presented for another host, or by a proxy, proves nothing")
  func otherHost() throws {
    let certificate = try Self.certificate(["capsule.example", "other.example"])
    let chain = try PeerCertificate.certificates(pem: certificate.certificatePEM)
    let judge = FirstUseJudge(
      host: try Self.host(), known: nil, accepting: nil, rules: .init(), time: .continuous)
    let good = ServerTrust(host: try HostName("capsule.example"), port: 1965, chain: chain)
    var proxy = good, port = good, host = good, none = good
    proxy.role = .proxy
    port.port = 443
    host.host = try HostName("other.example")
    none.chain = []
    for trust in [proxy, port, host, none] {
      guard case .failure = judge.decision(on: trust) else {
        Issue.record("\(trust) was accepted")
        continue
      }
    }
    #expect(judge.decision(on: good) == .success(.firstUse))
  }

  @Test("If another client remembers a host first with another key, the change is detected")
  func race() async throws {
    let mine = try Self.certificate(), theirs = try Self.certificate()
    let store = RacingStore(try Self.known(theirs))
    let capsule = Self.capsule(mine)
    let error = await #expect(throws: GeminiError.self) { try await Self.client(capsule, store).fetch(Self.start) }
    #expect(error?.code == .certificateChanged && capsule.requests.isEmpty && capsule.dialed.count == 2)
  }

  @Test("A store that fails, or changes endlessly, is an error, and nothing is sent")
  func brokenStore() async throws {
    let capsule = Self.capsule(try Self.certificate())
    for store in [BrokenStore(failsAtOnce: true), BrokenStore(failsAtOnce: false)] {
      let error = await #expect(throws: GeminiError.self) { try await Self.client(capsule, store).fetch(Self.start) }
      #expect(error?.stage == .trust && error?.code == .knownHostsFailed)
    }
    #expect(capsule.requests.isEmpty && capsule.dialed.count > 0)
  }

  @Test("Cancelling the task ends the wait for a decision")
  func cancelledDecision() async throws {
    let old = try Self.certificate()
    let capsule = Self.capsule(try Self.certificate())
    let asked = EventRecorder<String>()
    let client = Self.client(
      capsule, GeminiMemoryKnownHosts([try Self.host(): try Self.known(old)]),
      onMismatch: { _ in
        asked.record("")
        try? await Task.sleep(for: .seconds(86_400))
        return .acceptOnce
      })
    let work = Task { try await client.fetch(Self.start) }
    try await asked.waitForEvents(count: 1)
    work.cancel()
    let error = await #expect(throws: GeminiError.self) { try await work.value }
    #expect(error?.stage == .cancelled && capsule.requests.isEmpty)
  }
}

/// A store in which another request adds the host between look-up and storing.
private final class RacingStore: GeminiKnownHosts {
  private let store = GeminiMemoryKnownHosts()
  private let theirs: GeminiKnownHost

  init(_ theirs: GeminiKnownHost) { self.theirs = theirs }

  func knownHost(_ host: GeminiHost) async throws(ConfigurationError) -> GeminiKnownHost? {
    try await store.knownHost(host)
  }

  func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(ConfigurationError) -> Bool {
    _ = try await store.replace(host, nil, with: theirs)
    return try await store.replace(host, old, with: new)
  }
}

private struct BrokenStore: GeminiKnownHosts {
  var failsAtOnce: Bool

  func knownHost(_ host: GeminiHost) async throws(ConfigurationError) -> GeminiKnownHost? {
    if failsAtOnce { throw ConfigurationError("out of order") }
    return nil
  }

  func replace(
    _ host: GeminiHost, _ old: GeminiKnownHost?, with new: GeminiKnownHost?
  ) async throws(ConfigurationError) -> Bool { false }
}
