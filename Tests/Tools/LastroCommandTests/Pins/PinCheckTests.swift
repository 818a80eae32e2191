// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import Testing

@Suite("lastro pins --check", .timeLimit(.minutes(15)))
struct PinCheckTests {
  private let lab: PinnedServers
  private let leaf: MintedCertificate
  private let server: LoopbackServer

  init() throws {
    lab = try PinnedServers()
    leaf = try lab.leaf("localhost")
    server = try lab.server(leaf)
  }

  private var host: String { "localhost:\(server.port)" }

  private func policy(_ pins: String...) -> [String: Any] {
    ["domain": "localhost", "pins": pins, "expires": "2099-01-01T00:00:00Z", "afterExpiration": "refuse"]
  }

  @Test("Without a host only the file is checked, and no connection is opened")
  func alone() async throws {
    let file = try lab.policyFile([policy(PinnedServers.absent, PinnedServers.pin(leaf))])
    let good = try await lab.pins("--check", file)
    #expect(good.status == 0 && good.text == "ok: nothing found in 1 policy\n", "\(good.text)")
    var expired = policy(PinnedServers.absent, try PinnedServers.pin(leaf))
    expired["expires"] = "2001-01-01T00:00:00Z"
    let bad = try await lab.pins("--check", try lab.policyFile([expired]))
    #expect(bad.status == 60 && bad.errors.isEmpty)
    #expect(
      bad.text.hasPrefix("error policy_expired: localhost: the policy expired at 2001-01-01T00:00:00Z"), "\(bad.text)")
    #expect(server.acceptedConnections == 0)
  }

  @Test("With a host the served chain is compared, and no request is sent")
  func served() async throws {
    let good = try lab.policyFile([policy(PinnedServers.absent, PinnedServers.pin(lab.issuer.identity))])
    let passed = try await lab.pins("--check", good, host)
    #expect(passed.status == 0 && passed.text == "ok: nothing found in 1 policy\n", "\(passed.text)")
    let wrong = try lab.policyFile([policy(PinnedServers.absent, "sha256/" + String(repeating: "B", count: 43) + "=")])
    let refused = try await lab.pins("--check", wrong, host)
    #expect(refused.status == 60 && refused.text.hasPrefix("error no_pin_matches: localhost: "), "\(refused.text)")
    #expect(refused.text.contains(try PinnedServers.pin(leaf)))
    #expect(try await lab.pins("--check", wrong).status == 0)
    let other = try lab.policyFile([["domain": "other.test", "pins": [PinnedServers.absent, PinnedServers.pin(leaf)]]])
    #expect(try await lab.pins("--check", other, host).text.contains("error host_not_pinned: localhost: "))
    #expect(server.requests.isEmpty && server.receivedBytes == 0)
  }

  @Test("Warnings have exit status 0")
  func warnings() async throws {
    let file = try lab.policyFile([policy(PinnedServers.absent, PinnedServers.pin(leaf))])
    let result = try await lab.pins("--check", file, host)
    #expect(result.status == 0 && result.text.hasPrefix("warning leaf_only: localhost: "), "\(result.text)")
  }

  @Test("The object has the same keys for every result")
  func json() async throws {
    let file = try lab.policyFile([policy(PinnedServers.absent, PinnedServers.pin(leaf))])
    let found = try await lab.pins("--json", "--check", file, host).json()
    let invalid = try lab.directory.write("{", to: "invalid.json")
    let failed = try await lab.pins("--json", "--check", invalid).json()
    let keys: Set = ["file", "policies", "servers", "findings", "error"]
    #expect([found, failed].allSatisfy { Set($0.keys) == keys })
    #expect(found["servers"] as? [String] == [host] && found["policies"] as? Int == 1)
    let findings = try #require(found["findings"] as? [[String: String]])
    #expect(findings.map { $0["code"] } == ["leaf_only"])
    #expect(Set(findings[0].keys) == ["severity", "code", "host", "message", "hint"])
    #expect(found["error"] is NSNull && failed.failureWords == "request/invalid_option")
  }

  @Test(
    "An unusable file has exit status 3, and the place is named",
    arguments: [
      ("{", "is not valid JSON"), (#"{"policies": []}"#, "policies: the list of pinning policies is empty"),
      (
        #"{"policies": [{"domain": "a.test", "pins": ["sha256/AAAA"]}]}"#,
        "policies[0]: these pins cannot be read: \"sha256/AAAA\""
      ),
      (#"{"policies": [{"domain": "a.test", "pin": []}]}"#, "policies[0]"),
      (#"{"policies": [{"domain": "*.a.test", "pins": []}]}"#, "wildcard"),
    ])
  func invalid(_ text: String, _ words: String) async throws {
    let file = try lab.directory.write(text, to: "policy.json")
    for arguments in [["pins", "--check", file], ["fetch", "--pin-policy", file, server.baseURL]] {
      let result = try await Lastro.run(arguments)
      #expect(result.status == 3 && result.output.isEmpty, "\(result.errors)")
      #expect(result.errors.contains(words) && result.errors.contains(file), "\(result.errors)")
    }
    let missing = try await Lastro.run(["pins", "--check", "/nonexistent/policy.json"])
    #expect(missing.status == 3 && missing.errors.contains("/nonexistent/policy.json cannot be read"))
    #expect(server.acceptedConnections == 0)
  }

  @Test("An unreachable or untrusted host fails as in fetch")
  func unreachable() async throws {
    let file = try lab.policyFile([policy(PinnedServers.absent, PinnedServers.pin(leaf))])
    #expect(try await lab.pins("--check", file, "localhost:\(try Loopback.freePort())").status == 7)
    let untrusted = try await Lastro.run(["pins", "--check", file, host])
    #expect(untrusted.status == 35 && untrusted.errors.contains("tls/untrusted_certificate"))
  }
}
