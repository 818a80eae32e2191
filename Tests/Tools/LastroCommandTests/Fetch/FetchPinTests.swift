// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import Testing

@Suite("lastro fetch: pins", .timeLimit(.minutes(15)))
struct FetchPinTests {
  private let lab: PinnedServers
  private let leaf: MintedCertificate
  private let server: LoopbackServer

  init() throws {
    lab = try PinnedServers()
    leaf = try lab.leaf("localhost", "127.0.0.1", "api.localhost.test", "localhost.test")
    server = try lab.server(leaf)
  }

  private func policy(_ pins: String..., mode: String = "enforce") -> [String: Any] {
    ["domain": "localhost", "pins": pins, "mode": mode]
  }

  @Test("A pinned key is accepted: the leaf's, the issuer's, the root's, one of several, for a name in any spelling")
  func accepted() async throws {
    let pins = try [leaf, lab.issuer.identity, lab.root.identity].map(PinnedServers.pin)
    for pin in pins { #expect(try await lab.fetch(server, "--pin", "localhost=\(pin)").text == "answer") }
    let several = try await lab.fetch(
      server, "--pin", "localhost=\(PinnedServers.absent)", "--pin", "LocalHost.=\(pins[0])", "--pin",
      "other.test=\(PinnedServers.absent)")
    #expect(several.text == "answer" && several.errors.isEmpty)
    let unprefixed = "localhost=\(pins[1].dropFirst(7))"
    #expect(try await lab.fetch(server, "--pin", unprefixed).status == 0)
    // Other hosts are not pinned.
    #expect(try await lab.fetch(server, "--pin", "other.test=\(PinnedServers.absent)").status == 0)
  }

  @Test("A refused pin has stage trust and all details, and nothing reaches the server")
  func refused() async throws {
    let flags = [
      "--pin", "localhost=\(PinnedServers.absent)", "--retries", "3", "--retry-all", "--bearer", "hush", "-d", "hush",
    ]
    let arguments = ["fetch"] + lab.trust + flags + [server.baseURL]
    let text = try await Lastro.run(arguments)
    #expect(text.status == 60 && text.output.isEmpty)
    #expect(text.errors.hasPrefix("lastro: trust/pin_mismatch: localhost:\(server.port) was refused: none"))
    for pin in try [leaf, lab.issuer.identity, lab.root.identity].map(PinnedServers.pin) + [PinnedServers.absent] {
      #expect(text.errors.contains(pin), "\(text.errors)")
    }
    let json = try await Lastro.run(arguments + ["--report"])
    #expect(json.status == 60 && json.errors.isEmpty)
    let object = try json.json()
    #expect(object.failureWords == "trust/pin_mismatch" && object.attempts.count == 1)
    let message = try #require((object["error"] as? [String: String])?["message"])
    #expect(message.hasPrefix("localhost:\(server.port) was refused") && !message.contains("\n"))
    let trust = try #require(object["trust"] as? [String: Any])
    let chain = try #require(trust["chain"] as? [[String: Any]])
    #expect(
      chain.map { $0["pin"] as? String }
        == (try [leaf, lab.issuer.identity, lab.root.identity].map(PinnedServers.pin)))
    #expect(trust["pins"] as? [String] == [PinnedServers.absent] && trust["host"] as? String == "localhost")
    #expect(server.acceptedConnections == 2 && server.receivedBytes == 0 && server.requests.isEmpty)
  }

  @Test("Other certificate failures keep stage tls, even with pins")
  func untrusted() async throws {
    let pin = ["--pin", "localhost=\(try PinnedServers.pin(leaf))", "--pin", "api.test=\(try PinnedServers.pin(leaf))"]
    let untrusted = try await Lastro.run(["fetch", "--report"] + pin + [server.baseURL])
    #expect(untrusted.status == 35)
    #expect(try untrusted.json().failureWords == "tls/untrusted_certificate")
    let answer = ["--resolve", "api.test:\(server.port):127.0.0.1", "https://api.test:\(server.port)/"]
    let wrong = try await Lastro.run(["fetch", "--report"] + lab.trust + pin + answer)
    #expect(wrong.status == 35)
    let object = try wrong.json()
    #expect(object.failureWords == "tls/host_mismatch" && object["trust"] is NSNull)
    let names = ["localhost", "127.0.0.1", "api.localhost.test", "localhost.test"]
    let certificate = try #require(object["certificate"] as? [String: Any])
    #expect(certificate["names"] as? [String] == names)
    #expect(try certificate["pin"] as? String == PinnedServers.pin(leaf))
    let message = try #require((object["error"] as? [String: String])?["message"])
    #expect(message.hasSuffix("is for other names: \(names.joined(separator: ", "))"), "\(message)")
    #expect(server.requests.isEmpty)
  }

  @Test("--pin-subdomains pins the hosts below as well; without it they are not pinned")
  func subdomains() async throws {
    let port = server.port
    let way = ["--resolve", "api.localhost.test:\(port):127.0.0.1", "https://api.localhost.test:\(port)/"]
    let pin = ["fetch"] + lab.trust + ["--pin", "localhost.test=\(PinnedServers.absent)"]
    #expect(try await Lastro.run(pin + way).text == "answer")
    let below = try await Lastro.run(pin + ["--pin-subdomains"] + way)
    #expect(below.status == 60 && below.errors.contains("the pinning policy for localhost.test and its subdomains"))
    #expect(server.requests.count == 1)
  }

  @Test("An IP address can be pinned")
  func address() async throws {
    let way = ["fetch"] + lab.trust + ["https://127.0.0.1:\(server.port)/"]
    #expect(try await Lastro.run(way + ["--pin", "127.0.0.1=\(PinnedServers.pin(leaf))"]).text == "answer")
    #expect(try await Lastro.run(way + ["--pin", "127.0.0.1=\(PinnedServers.absent)"]).status == 60)
    #expect(try await Lastro.run(way + ["--pin", "[::1]=\(PinnedServers.absent)"]).status == 0)
  }

  @Test("A pinned host is not contacted over plain http")
  func plaintext() async throws {
    let plain = try LoopbackServer.http { _ in .text("answer") }
    let flags = ["fetch", "--report", "--pin", "127.0.0.1=\(PinnedServers.absent)", plain.baseURL]
    let refused = try await Lastro.run(flags)
    #expect(refused.status == 60)
    #expect(try refused.json().failureWords == "trust/plaintext_refused")
    #expect(plain.acceptedConnections == 0)
    let reported = try await Lastro.run(flags + ["--report-only"])
    #expect(reported.status == 0 && reported.errors.contains("reported only, not refused: trust/plaintext_refused"))
  }

  @Test("The pins of a redirect's target are enforced")
  func redirect() async throws {
    let target = server.baseURL
    let hop = try LoopbackServer.http(tls: LoopbackTLS(try lab.leaf("hop.test"))) { _ in
      LoopbackResponse(status: 302).adding("Location", target)
    }
    let way = ["--resolve", "hop.test:\(hop.port):127.0.0.1", "https://hop.test:\(hop.port)/"]
    let refused = try await Lastro.run(["fetch"] + lab.trust + ["--pin", "localhost=\(PinnedServers.absent)"] + way)
    #expect(refused.status == 60 && refused.errors.contains("trust/pin_mismatch"), "\(refused.errors)")
    #expect(hop.requests.count == 1 && server.receivedBytes == 0)
  }

  @Test("--report-only reports once on standard error what would have been refused, and succeeds")
  func reportOnly() async throws {
    let flags = ["--report-only", "--pin", "localhost=\(PinnedServers.absent)"]
    let result = try await Lastro.run(["fetch"] + lab.trust + flags + [server.baseURL])
    #expect(result.status == 0 && result.text == "answer")
    #expect(result.errors.hasPrefix("lastro: reported only, not refused: trust/pin_mismatch: localhost:"))
    #expect(result.errors.contains(try PinnedServers.pin(leaf)) && result.errors.contains(PinnedServers.absent))
    let json = try await Lastro.run(["fetch", "--report"] + lab.trust + flags + [server.baseURL])
    #expect(try json.json()["error"] is NSNull)
    #expect(json.errors.contains("reported only, not refused"))
    let matching = try await lab.fetch(server, "--report-only", "--pin", "localhost=\(PinnedServers.pin(leaf))")
    #expect(matching.status == 0 && matching.errors.isEmpty)
    let strange = try lab.policyFile([
      ["domain": "other.test", "pins": [PinnedServers.absent, PinnedServers.pin(leaf)]]
    ])
    let unpinned = try await lab.fetch(server, "--report-only", "--pin-policy", strange)
    #expect(unpinned.status == 0 && unpinned.errors.contains("trust/host_not_pinned"))
    // An untrusted chain is still rejected.
    #expect(try await Lastro.run(["fetch"] + flags + [server.baseURL]).status == 35)
  }

  @Test("--pin-policy: the file decides, also about hosts without a policy, and its modes apply")
  func policyFile() async throws {
    func run(_ policies: [[String: Any]], allowsOthers: Bool? = nil) async throws -> Lastro.Result {
      try await lab.fetch(server, "--pin-policy", lab.policyFile(policies, allowsOthers: allowsOthers))
    }
    let pin = try PinnedServers.pin(leaf)
    let spare = "sha256/" + String(repeating: "B", count: 43) + "="
    #expect(try await run([policy(pin, spare)]).text == "answer")
    let refused = try await run([policy(PinnedServers.absent, spare)])
    #expect(refused.status == 60 && refused.errors.contains("trust/pin_mismatch"))
    let other: [String: Any] = ["domain": "other.test", "pins": [pin, spare]]
    let stranger = try await run([other])
    #expect(stranger.status == 60 && stranger.errors.contains("trust/host_not_pinned"))
    #expect(try await run([other], allowsOthers: true).text == "answer")
    let reported = try await run([policy(PinnedServers.absent, spare, mode: "reportOnly")])
    #expect(reported.text == "answer" && reported.errors.contains("reported only, not refused: trust/pin_mismatch"))
    let off = try await run([["domain": "localhost", "mode": "off"]])
    #expect(off.text == "answer" && off.errors.isEmpty)
    let alone = try await run([policy(pin)])
    #expect(alone.status == 3 && alone.errors.contains("policies[0]") && alone.errors.contains("backup"))
    #expect(server.requests.count == 4)
  }

  @Test(
    "An invalid argument has exit status 64, and the error says what to write",
    arguments: [
      (["--pin", "localhost"], "write HOST=sha256/…"), (["--pin", ""], "write HOST=sha256/…"),
      (["--pin", "=\(PinnedServers.absent)"], "the host is empty"), (["--pin", "localhost="], "is not a pin"),
      (["--pin", "localhost=sha256/AAAA"], "Base64 of 32 bytes"),
      (["--pin", "localhost=sha256//\(PinnedServers.absent.dropFirst(7))"], "with one slash"),
      (["--pin", "localhost:443=\(PinnedServers.absent)"], "has a port"),
      (["--pin", "*.test=\(PinnedServers.absent)"], "--pin *.test="),
      (["--pin", "a b=\(PinnedServers.absent)"], "--pin a b="),
      (["--pin", "127.0.0.1=\(PinnedServers.absent)", "--pin-subdomains"], "an IP address has no subdomains"),
      (["--pin", "com=\(PinnedServers.absent)", "--pin-subdomains"], "anyone may register"),
      (["--pin", "a.test=\(PinnedServers.absent)", "--pin-policy", "p.json"], "exclude each other"),
      (["--pin-subdomains"], "--pin-subdomains applies to --pin"), (["--report-only"], "--report-only needs pins"),
    ] as [([String], String)])
  func usage(_ flags: [String], _ words: String) async throws {
    for command in [["fetch", server.baseURL], ["explain", server.baseURL], ["batch"], ["bench", server.baseURL]] {
      let result = try await Lastro.run(command + flags)
      #expect(result.status == 64, "\(flags) \(result.errors)")
      #expect(result.errors.contains(words), "\(result.errors)")
    }
    #expect(server.acceptedConnections == 0)
  }

  @Test("batch, bench and explain support the same pins")
  func otherCommands() async throws {
    let wrong = ["--pin", "localhost=\(PinnedServers.absent)"],
      right = ["--pin", "localhost=\(try PinnedServers.pin(leaf))"]
    let line = #"{"url":"\#(server.baseURL)","cacert":"\#(lab.rootFile)"}"# + "\n"
    let refused = try await Lastro.run(["batch"] + wrong, input: line + line).jsonLines()
    #expect(refused.map(\.failureWords) == ["trust/pin_mismatch", "trust/pin_mismatch"])
    let bench = ["bench", server.baseURL, "--cacert", lab.rootFile, "--requests", "4", "--concurrency", "2"]
    #expect(try await Lastro.run(bench + wrong).json()["ok"] as? Int == 0)
    #expect(server.receivedBytes == 0)
    #expect(try await Lastro.run(["batch"] + right, input: line).jsonLines().map(\.status) == [200])
    #expect(try await Lastro.run(bench + right).json()["ok"] as? Int == 4)
    let reported = try await Lastro.run(bench + wrong + ["--report-only"])
    #expect(reported.errors.components(separatedBy: "reported only").count == 2, "\(reported.errors)")
    let explained = try await Lastro.run(["explain", server.baseURL] + wrong)
    #expect(explained.text.contains("judge: the pinning policy for localhost: its key must be in the chain"))
    let file = try lab.directory.write("{", to: "bad.json")
    for command in [["batch"], ["explain", server.baseURL], bench] {
      let result = try await Lastro.run(command + ["--pin-policy", file])
      #expect(result.status == 3 && result.errors.contains("is not valid JSON"), "\(result.errors)")
    }
  }
}
