// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroStreamsTesting
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro gemini", .peers(.mollyBrown, .jetforce, .dante), .timeLimit(.minutes(15)))
struct GeminiCommandTests {
  private let directory: PeerDirectory

  init() throws { directory = try PeerDirectory() }

  private static func selfSigned() throws -> MintedCertificate { try CertificateMint.selfSigned(hosts: ["localhost"]) }

  @Test("Pages, redirects, prompts and refusals of molly-brown and jetforce are printed")
  func realServers() async throws {
    let molly = try Peers.mollyBrown, jetforce = try Peers.jetforce
    let page = try await Lastro.run(["gemini", molly.url("/")])
    #expect(page.status == 0, "\(page.errors)")
    #expect(page.text.hasPrefix("# Molly"))
    let old = try await Lastro.run(["gemini", "--report", molly.url("/old")])
    #expect(try old.json()["redirects"] as? [String] == [molly.url("/")], "\(old.text)")
    let big = try await Lastro.run(["gemini", "--report", molly.url("/big.bin")]).json()
    #expect(big["body_bytes"] as? Int == 1_000_000)
    #expect(big["body_sha256"] as? String == "30bd6d97affa9196b48cf4f86569c1a6a2d2fcf7d8c25771526f5e5596e7ae2e")
    let missing = try await Lastro.run(["gemini", "--report", molly.url("/missing")])
    #expect(missing.status == 22)
    #expect(try missing.json()["status"] as? Int == 51)
    #expect(try missing.json().failureWords == "http/unexpected_status")
    let asked = try await Lastro.run(["gemini", "--report", jetforce.url("/cgi-bin/input")])
    #expect(asked.status == 22)
    #expect(try asked.json()["meta"] as? String == "Say")
    let answered = try await Lastro.run(["gemini", "--input", "a b?", jetforce.url("/cgi-bin/input")])
    #expect(answered.status == 0)
    #expect(answered.text == "a%20b%3F")
  }

  @Test("The process list does not show the value of --input", arguments: [["--input", "hush"], ["--input=hush"]])
  func processes(flags: [String]) async throws {
    let seen = Lock<[String]>([])
    let server = try LoopbackGeminiServer(identity: try Self.selfSigned()) { line in
      let ids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int32($0) != nil }) ?? []
      for id in ids {
        guard let file = FileManager.default.contents(atPath: "/proc/\(id)/cmdline") else { continue }
        let words = String(decoding: file, as: UTF8.self)
        if words.contains(String(line.prefix { $0 != "?" })) { seen.withLock { $0.append(words) } }
      }
      return line.contains("?") ? .success("a") : .header(10, "Say")
    }
    let result = try await Lastro.run(["gemini"] + flags + [server.url("/listed")])
    #expect(result.text == "a" && server.requests.last == server.url("/listed?hush"), "\(result.errors)")
    let listed = seen.withLock { $0 }.joined()
    #expect(listed.contains("--input") && !listed.contains("hush"), "\(listed)")
  }

  @Test("--report has every key in any case")
  func keys() async throws {
    for url in [try Peers.mollyBrown.url("/"), "gemini://user@localhost/", "gemini://localhost:1/"] {
      let json = try await Lastro.run(["gemini", "--report", url]).json()
      #expect(
        Set(json.keys) == ["url", "status", "meta", "body_bytes", "body_sha256", "redirects", "error"], "\(json)")
    }
  }

  @Test("--known-hosts remembers a key, and another one is a trust failure")
  func knownHosts() async throws {
    let server = try LoopbackGeminiServer(identity: try Self.selfSigned()) { _ in .success("hello") }
    let file = directory.file("known")
    let flags = ["gemini", "--report", "--known-hosts", file, server.url()]
    for _ in 0..<2 { #expect(try await Lastro.run(flags).status == 0) }
    let before = try String(contentsOfFile: file, encoding: .utf8)
    #expect(before.contains("localhost \(server.port) sha256/"), "\(before)")
    try server.show(try Self.selfSigned())
    let changed = try await Lastro.run(flags)
    #expect(changed.status == 60)
    #expect(try changed.json().failureWords == "trust/certificate_changed")
    #expect(server.requests.count == 2)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
    #expect(try await Lastro.run(["gemini", server.url()]).status == 0)
  }

  @Test("--expired and --any-name accept such certificates and still pin them")
  func laxCertificates() async throws {
    func minted(_ hosts: [String]) throws -> MintedCertificate {
      try CertificateMint.selfSigned(hosts: hosts, validity: .expired)
    }
    let server = try LoopbackGeminiServer(identity: try minted(["other.test"])) { _ in .success("hello") }
    let refusals: [([String], String)] = [
      ([], "trust/certificate_expired"), (["--any-name"], "trust/certificate_expired"),
      (["--expired"], "trust/host_mismatch"),
    ]
    for (flags, words) in refusals {
      let result = try await Lastro.run(["gemini", "--report", server.url()] + flags)
      #expect(try result.json().failureWords == words)
      #expect(result.status == 60, "\(result.errors)")
    }
    #expect(server.requests.isEmpty)
    let flags = ["gemini", "--expired", "--any-name", "--known-hosts", directory.file("lax"), server.url()]
    for _ in 0..<2 {
      let result = try await Lastro.run(flags)
      #expect(result.status == 0 && result.text == "hello", "\(result.errors)")
    }
    // A changed certificate is rejected even if the known one has expired.
    try server.show(try minted(["other.test"]))
    let changed = try await Lastro.run(flags)
    #expect(changed.status == 60 && changed.errors.contains("certificate_changed"), "\(changed.errors)")
    #expect(server.requests.count == 2)
    for flag in ["--expired", "--any-name"] {
      #expect(try await Lastro.run(["gemini", flag, "--cacert", "/x", server.url()]).status == 64)
    }
  }

  @Test("Five redirects are followed, and those to other hosts only if configured")
  func redirects() async throws {
    let other = try LoopbackGeminiServer(identity: try Self.selfSigned()) { _ in .success("there") }
    let target = other.url()
    let server = try LoopbackGeminiServer(identity: try Self.selfSigned()) { request in
      request.hasSuffix("/away") ? .header(30, target) : .header(31, request + "x")
    }
    let refused = try await Lastro.run(["gemini", "--report", server.url("/away")])
    #expect(refused.status == 47)
    #expect(try refused.json().failureWords == "redirect/redirect_refused")
    #expect(other.requests.isEmpty)
    let followed = try await Lastro.run(["gemini", "--yes-cross-host", server.url("/away")])
    #expect(followed.text == "there", "\(followed.errors)")
    let many = try await Lastro.run(["gemini", "--report", server.url("/")])
    #expect(many.status == 47)
    #expect(try many.json().failureWords == "redirect/too_many_redirects")
    let delivered = try await Lastro.run(["gemini", "--report", "--max-redirects", "0", server.url("/")])
    #expect(delivered.status == 22)
    #expect(try delivered.json()["status"] as? Int == 31)
  }

  @Test("Hostile responses are failures: overlong meta, no CRLF, a bad status, a truncated or overlong body")
  func hostile() async throws {
    let cases: [(LoopbackGeminiAnswer, [String], Int32)] = [
      (.header(20, String(repeating: "m", count: 1_025)), [], 56), (.init("20 text/plain"), [], 56),
      (.init("2x text/plain\r\n"), [], 56), (.init("20 text/plain\r\nhalf", end: .truncate), [], 56),
      (.success("too long"), ["--max-body", "3"], 63), (.silence, ["--timeout", "0.5"], 28),
      (LoopbackGeminiAnswer.success("slowly").byteByByte, [], 0),
    ]
    for (answer, flags, status) in cases {
      let server = try LoopbackGeminiServer(identity: try Self.selfSigned()) { _ in answer }
      let result = try await Lastro.run(["gemini", server.url()] + flags)
      #expect(result.status == status, "\(answer) \(result.errors)")
    }
  }

  @Test("A client certificate is sent to its host and path only")
  func clientCertificate() async throws {
    let authority = try CertificateAuthority()
    let client = try authority.issue(hosts: ["client.test"])
    let file = try directory.write(client.chainPEM + client.privateKeyPEM, to: "client.pem")
    let server = try LoopbackGeminiServer(
      identity: try Self.selfSigned(), clientAuthoritiesPEM: authority.rootPEM
    ) { _ in .success("welcome") }
    let result = try await Lastro.run(["gemini", "--cert", file, server.url("/app")])
    #expect(result.text == "welcome", "\(result.errors)")
    #expect(try await Lastro.run(["gemini", server.url("/app")]).status != 0)
    #expect(server.requests.count == 1)
  }

  @Test("Authorities and pins replace trust on first use, also through a SOCKS 5 proxy", .needsDante)
  func authorities() async throws {
    let lab = try PinnedServers()
    let leaf = try lab.leaf("localhost")
    let server = try LoopbackGeminiServer(identity: leaf) { _ in .success("trusted") }
    let via = ["--via", "socks5://127.0.0.1:\(try Peers.dante.port)"]
    let pin = try PinnedServers.pin(leaf)
    let stranger = try directory.write(try CertificateAuthority().rootPEM, to: "stranger.pem")
    let cases: [([String], Int32)] = [
      (lab.trust, 0), (["--cacert", stranger], 35), (lab.trust + ["--pin", "localhost=\(PinnedServers.absent)"], 60),
      (lab.trust + ["--pin", "localhost=\(pin)"], 0), (["--pin", "localhost=\(pin)"], 0),
      (["--pin", "localhost=\(PinnedServers.absent)"], 60), (lab.trust + ["--known-hosts", "x"], 64),
    ]
    for way in [[], via] {
      for (flags, status) in cases {
        let result = try await Lastro.run(["gemini", server.url()] + flags + way)
        #expect(result.status == status, "\(flags) \(way) \(result.errors)")
      }
    }
  }
}
