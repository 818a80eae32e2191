// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import LastroSupport
import LastroTesting
import Logging
import TestSupport
import Testing

@testable import Lastro

@Suite("Trust failures", .timeLimit(.minutes(15)))
struct TrustFailureTests {
  static func failure(others: Int = 1) throws -> (TrustFailure, TrustChain) {
    let chain = try TrustChain()
    let policy = try PinningPolicy(
      "example.com", includeSubdomains: true, expiration: .refuse(after: .manual(60)),
      pins: [SPKIHash.made(of: 1), SPKIHash.made(of: 2)])
    let trust = try chain.trust(port: 8443, others: Array(repeating: chain.unrelated, count: others))
    return (TrustFailure(.noPinMatches, trust: trust, policy: policy), chain)
  }

  @Test("The text contains host, policy, chain, pins and a corrected policy to paste")
  func text() throws {
    let (failure, chain) = try Self.failure()
    let expires = chain.all.map { $0.facts?.notAfter.inCalendar ?? "" }
    let expected = """
      lastro.example.com:8443 was refused: none of the 3 keys of its verified chain is in the pinning policy \
      for example.com and its subdomains
        if the server's keys were changed on purpose, add the new one to the policy; if not, an attacker may be intercepting the connection
        verified chain, leaf first:
          \(chain.leaf.pin)  CN=lastro.example.com; EC P-256; expires \(expires[0])
          \(chain.intermediate.pin)  CN=Test intermediate; EC P-384; expires \(expires[1])
          \(chain.root.pin)  CN=Test root; EC P-521; expires \(expires[2])
        other certificates that the server sent, useless as pins: they are not part of the verified chain
          \(chain.unrelated.pin)  \(chain.unrelated.summary)
        configured pins:
          \(SPKIHash.made(of: 1))
          \(SPKIHash.made(of: 2))
        the policy; uncomment a key only after verifying, through another channel, that it is the server's:
          try PinningPolicy(
            "example.com",
            includeSubdomains: true,
            // 2001-09-09T01:47:40Z
            expiration: .refuse(after: Date(timeIntervalSince1970: 1000000060)),
            pins: [
              "\(SPKIHash.made(of: 1))",
              "\(SPKIHash.made(of: 2))",
              // "\(chain.leaf.pin)",  // CN=lastro.example.com; EC P-256; expires \(expires[0])
              // "\(chain.intermediate.pin)",  // CN=Test intermediate; EC P-384; expires \(expires[1])
              // "\(chain.root.pin)",  // CN=Test root; EC P-521; expires \(expires[2])
            ])
      """
    #expect(failure.description == expected)
  }

  @Test("The text is bounded, however many certificates a server sends")
  func bounded() throws {
    let (failure, _) = try Self.failure(others: 1000)
    #expect(failure.description.contains("    and 990 more\n"))
    #expect(failure.description.split(separator: "\n").count < 50)
  }

  @Test("Texts are cut by Unicode scalars")
  func cut() {
    let marks = "a" + String(repeating: "\u{301}", count: 300)
    #expect(marks.count == 1 && marks.cut(to: 200).unicodeScalars.count == 201)
    #expect("abc".cut(to: 3) == "abc" && "abcd".cut(to: 3) == "abc…" && "".cut(to: 0).isEmpty)
  }

  @Test("Each reason has its sentence, code and hint")
  func reasons() throws {
    let (failure, _) = try Self.failure()
    let trust = failure.trust
    let expired = TrustFailure(.policyExpired(.manual()), trust: trust, policy: failure.policy)
    #expect(expired.code == .policyExpired && expired.message.hasSuffix("expired at 2001-09-09T01:46:40Z"))
    let stranger = TrustFailure(.hostNotPinned, trust: trust)
    #expect(stranger.code == .hostNotPinned && stranger.description.contains("  \"lastro.example.com\","))
    let plain = TrustFailure(.plaintext, trust: trust, policy: failure.policy)
    #expect(plain.code == .plaintextRefused && plain.hint == "use https")
    let unpinned = TrustFailure(.plaintext, trust: trust)
    #expect(unpinned.message.hasSuffix("for plain http, where a server proves nothing"))
    let workload = TrustFailure(.wrongSPIFFEID("it shows spiffe://a/b, and spiffe://a/c is required"), trust: trust)
    #expect(workload.code == .spiffeIDMismatch && workload.hint?.contains("require the new one") == true)
    #expect(workload.message.hasSuffix("was refused: it shows spiffe://a/b, and spiffe://a/c is required"))
    #expect(!workload.description.contains("PinningPolicy"))
    let own = TrustFailure(.refused("not\non Sundays"), trust: trust)
    #expect(own.code == .trustRefused && own.message.hasSuffix(#"judge: not\non Sundays"#) && own.hint == nil)
    let unproven = TrustFailure(.unproven, trust: trust)
    #expect(unproven.code == .trustRefused && unproven.hint?.contains("new connection") == true)
    #expect(unproven.message.contains("no verified chain of its own handshake"))
    #expect(!unproven.description.contains("PinningPolicy"))
    for failure in [expired, stranger, plain, unpinned, workload, unproven, own] {
      #expect(failure.message.contains("lastro.example.com:8443") && !failure.message.contains("\n"))
      // The redaction finds no secret in the message.
      #expect(Redaction.standard.text(failure.message) == failure.message)
    }
    var proxy = trust
    proxy.role = .proxy
    proxy.host = try HostName("::1")
    #expect(TrustFailure(.hostNotPinned, trust: proxy).message.hasPrefix("the proxy [::1]:8443 was refused"))
  }

  @Test("In descriptions and dumps, certificates take a line each, and PEM is shown as a number of bytes")
  func printed() throws {
    let (failure, chain) = try Self.failure()
    func dumped(_ value: some Any) -> String {
      var text = ""
      dump(value, to: &text)
      return text
    }
    let pin = "\(chain.leaf.pin)"
    #expect(chain.leaf.description == "\(pin)  \(chain.leaf.summary)")
    let trust = failure.trust
    #expect(trust.description.hasPrefix("lastro.example.com:8443: chain \(pin), "))
    #expect(trust.description.hasSuffix(", and 1 other certificate"))
    #expect(ServerTrust(host: trust.host, role: .proxy, chain: []).description.hasSuffix(".com:443: no chain"))
    for text in [
      dumped(trust), dumped(failure), "\([trust])", String(reflecting: trust), String(reflecting: chain.all),
    ] {
      #expect(text.contains(pin) && text.utf8.count < 16_000)
    }
    // A dump of bytes would have a line for each byte.
    #expect(dumped(trust).split(separator: "\n").count < 20 && dumped(chain.leaf).split(separator: "\n").count < 5)
    var options = TLSOptions()
    options.roots = .pem(Array(chain.root.pem.utf8))
    let count = chain.root.pem.utf8.count
    #expect("\(options.roots)" == "pem(<\(count) bytes>)" && dumped(options).contains("pem(<\(count) bytes>)"))
    #expect(dumped(options).split(separator: "\n").count < 60)
    #expect("\(TLSOptions.Roots.file("/a"))" == "file(/a)" && "\(TLSOptions.Roots.system)" == "system")
  }

  @Test("The Swift source of a policy is its initializer call", arguments: PinningPolicy.Mode.allCases)
  func source(mode: PinningPolicy.Mode) throws {
    let policy = try PinningPolicy.test(pins: [SPKIHash.made(of: 1)], mode: mode)
    let last = mode == .enforce ? "  enforceBackupPin: false)" : "  mode: .\(mode.rawValue))"
    #expect(policy.swiftSource.hasSuffix(last) && policy.swiftSource.contains("  enforceBackupPin: false"))
    let address = try PinningPolicy("::1", pins: PinningPolicyTests.pins, mode: mode)
    #expect(address.swiftSource.contains("  \"::1\",\n"))
    let excluding = try PinningPolicy.excluding("a.example", includeSubdomains: true)
    #expect(
      excluding.swiftSource == "try PinningPolicy.excluding(\"a.example\", includeSubdomains: true)")
  }

  @Test(
    "A refusal ends the fetch, whatever policies want, and appears in error, ledger and JSON",
    arguments: [Retry.Action.retry, .retryAfter(.seconds(1)), .none])
  func fetch(action: Retry.Action) async throws {
    let (failure, _) = try Self.failure()
    let transport = ScriptedTransport([.fail(.refusedTrust(failure)), .respond(status: .ok)])
    let clock = ManualClock(autoAdvance: true)
    var configuration = StackConfiguration()
    configuration.timeSource = clock.timeSource
    configuration.interceptors = [
      Hooks(failed: { _ in action }), RetryInterceptor(policy: .standard, eligibility: .any),
    ]
    let stack = TransportNetworkStack(transport: transport, configuration: configuration)
    let error = try await stack.failure(of: .test())
    #expect(transport.requests.count == 1 && clock.sleeps.isEmpty)
    #expect(error.stage == .trust && error.code == .pinMismatch && error.trustFailure == failure)
    #expect(error.message == failure.message && error.hint == failure.hint)
    #expect(error.attempts.map(\.requestSent) == [false])
    #expect(error.debugDescription.contains(failure.description.replacing("\n", with: "\n  ")))
    #expect(error.ledger.json().contains(#""code":"pin_mismatch""#))
    #expect(error.ledger.json().contains("none of the 3 keys of its verified chain is in the pinning policy"))
    #expect(error.ledger.description.contains("trust/pin_mismatch"))
  }

  @Test("A refusal names a host that resembles a secret, and masks a secret in a judge's text")
  func names() async throws {
    let chain = try TrustChain()
    let trust = try chain.trust("token-service", port: 8443)
    let failure = TrustFailure(.hostNotPinned, trust: trust)
    let (logger, entries) = RecordingLogHandler.make()
    let stack = TransportNetworkStack(
      ScriptedTransport([.fail(.refusedTrust(failure))]), interceptors: [LoggingInterceptor(logger: logger)])
    let error = try await stack.failure(of: .test())
    let logged = entries.withLock { $0.filter { $0.level == .warning }.map(\.text) }
    #expect(logged.count == 1)
    var texts = [
      error.message, error.description, error.debugDescription, error.ledger.description, error.ledger.json(),
    ]
    texts += logged
    for text in texts { #expect(text.contains("token-service:8443 was refused"), "\(text)") }
    let own = TrustFailure(.refused("token=hunter2"), trust: trust)
    let other = try await TransportNetworkStack(transport: ScriptedTransport([.fail(.refusedTrust(own))]))
      .failure(of: .test())
    #expect(!other.message.contains("hunter2") && !other.ledger.json().contains("hunter2"))
  }

  @Test("Secrets named by the request are masked in a refusal too")
  func knownSecret() async throws {
    let failure = TrustFailure(.hostNotPinned, trust: try TrustChain().trust("tenant-4711.example"))
    let stack = TransportNetworkStack(transport: ScriptedTransport([.fail(.refusedTrust(failure))]))
    var options = RequestOptions()
    options.secrets = [Secret("tenant-4711")]
    let error = try await stack.failure(of: .test(options: options))
    #expect(error.message.hasPrefix("***.example:443 was refused"))
    #expect(!error.ledger.json().contains("4711") && !error.ledger.description.contains("4711"))
  }

  @Test("Other failures have no trust failure")
  func others() async throws {
    let stack = TransportNetworkStack(transport: ScriptedTransport([.respond(status: .notFound)]))
    let error = try await stack.failure(of: .test())
    #expect(error.trustFailure == nil)
  }
}
