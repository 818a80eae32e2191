// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro fetch: TLS", .timeLimit(.minutes(15)))
struct TLSFlagTests {
  private let lab: PinnedServers
  private let leaf: MintedCertificate

  init() throws {
    lab = try PinnedServers()
    leaf = try lab.leaf("localhost")
  }

  @Test("--capath trusts the certificates in a directory")
  func directory() async throws {
    let server = try lab.server(leaf)
    let folder = lab.directory.file("roots")
    #expect(try await Lastro.run(["fetch", "--capath", folder, server.baseURL]).text == "answer")
    #expect(try await Lastro.run(["pins", "--capath", folder, "localhost:\(server.port)"]).status == 0)
    let stranger = try lab.directory.write(try CertificateAuthority().rootPEM, to: "strangers/root.pem")
    let other = URL(filePath: stranger).deletingLastPathComponent().path
    #expect(try await Lastro.run(["fetch", "--capath", other, server.baseURL]).status == 35)
    let line = #"{"url":"\#(server.baseURL)","capath":"\#(folder)","tls_version":"1.3"}"# + "\n"
    #expect(try await Lastro.run(["batch"], input: line).jsonLines().map(\.status) == [200])
  }

  @Test("--tlsv1.3 refuses an older server, and --tlsv1.2 is the default")
  func versions() async throws {
    let old = try lab.server(leaf) { $0.maximumVersion = .v1_2 }
    for (flags, status) in [([], 0), (["--tlsv1.2"], 0), (["--tlsv1.3"], 35), (["--tlsv1.2", "--tlsv1.3"], 64)] {
      let result = try await Lastro.run(["fetch"] + lab.trust + flags + [old.baseURL])
      #expect(result.status == Int32(status), "\(flags) \(result.errors)")
    }
    let lines = ["1.3", "1.4"].map {
      #"{"url":"\#(old.baseURL)","cacert":"\#(lab.rootFile)","tls_version":"\#($0)"}"# + "\n"
    }
    let results = try await Lastro.run(["batch", "--concurrency", "1"], input: lines.joined()).jsonLines()
    #expect(results.map { $0.failureWords?.split(separator: "/").first } == ["tls", "request"])
  }

  @Test("--tls-max 1.2 refuses a server that speaks only TLS 1.3, and 1.3 is no limit")
  func newestVersion() async throws {
    let new = try lab.server(leaf) { $0.minimumVersion = .v1_3 }
    let old = try lab.server(leaf) { $0.maximumVersion = .v1_2 }
    for (server, value, status) in [(new, "1.2", 35), (new, "1.3", 0), (new, "default", 0), (old, "1.2", 0)] {
      let result = try await lab.fetch(server, "--tls-max", value)
      #expect(result.status == Int32(status), "\(value) \(result.errors)")
    }
    #expect(try await lab.fetch(old, "--tls-max", "1.0").status == 64)
    let lines = ["1.2", "1.3", "1.1"].map {
      #"{"url":"\#(new.baseURL)","cacert":"\#(lab.rootFile)","tls_max":"\#($0)"}"# + "\n"
    }
    let results = try await Lastro.run(["batch", "--concurrency", "1"], input: lines.joined()).jsonLines()
    #expect(results.map { $0.failureWords?.split(separator: "/").first } == ["tls", nil, "request"])
  }

  @Test("--ciphers and --tls13-ciphers are offered, and an unknown name is refused")
  func ciphers() async throws {
    let old = try lab.server(leaf) { $0.maximumVersion = .v1_2 }
    let new = try lab.server(leaf)
    let tunnel = try LoopbackServer.tunnel()
    let via = ["--via", "http://127.0.0.1:\(tunnel.port)"]
    let lists = """
      hint: `openssl ciphers -v` lists them; those of TLS 1.3 go into --tls13-ciphers, older ones into --ciphers
      """
    let unknown = ["tls/invalid_tls_configuration: OpenSSL knows no cipher \"NO-SUCH\" of TLS 1.2 or older", lists]
    let unknownSuite = ["OpenSSL knows no cipher \"TLS_NO_SUCH\" of TLS 1.3", lists]
    let none = ["the list of ciphers is empty", "hint: name a cipher, or leave the flag out for OpenSSL's choice"]
    let cases: [(LoopbackServer, [String], [String])] = [
      (old, ["--ciphers", "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES256-GCM-SHA384"], []),
      (old, ["--ciphers", "ECDHE-RSA-AES256-GCM-SHA384"], ["tls/handshake_failed: "]),
      (old, ["--ciphers", "NO-SUCH"], unknown), (old, via + ["--ciphers", "NO-SUCH"], unknown),
      (new, ["--tls13-ciphers", "TLS_CHACHA20_POLY1305_SHA256"], []),
      (new, ["--tls13-ciphers", "TLS_NO_SUCH"], unknownSuite), (new, ["--tls13-ciphers", ""], none),
    ]
    for (server, flags, texts) in cases {
      let result = try await Lastro.run(["fetch"] + lab.trust + flags + [server.baseURL])
      #expect(result.status == (texts.isEmpty ? 0 : 35), "\(flags) \(result.errors)")
      #expect(result.errors.isEmpty == texts.isEmpty, "\(flags) \(result.errors)")
      for text in texts { #expect(result.errors.contains(text), "\(flags) \(result.errors)") }
    }
  }

  @Test("--cert-status requires a good stapled response")
  func stapledStatus() async throws {
    let bare = try lab.server(leaf)
    let response = try lab.issuer.ocspResponse(for: leaf)
    let stapling = try lab.server(leaf) { $0.ocspResponse = response }
    #expect(try await lab.fetch(stapling, "--cert-status").text == "answer")
    let refused = try await lab.fetch(bare, "--cert-status")
    #expect(refused.status == 35 && refused.errors.contains("tls/certificate_status_invalid"))
    #expect(bare.requests.isEmpty)
  }

  @Test("--spiffe accepts a server by its ID alone, and needs roots of its own")
  func workload() async throws {
    let server = try lab.server(lab.issuer.svid("spiffe://example.org/orders"))
    #expect(try await lab.fetch(server, "--spiffe", "spiffe://example.org/orders").text == "answer")
    let wrong = try await lab.fetch(server, "--spiffe", "spiffe://example.org/other")
    #expect(wrong.status == 60 && wrong.errors.contains("trust/spiffe_id_mismatch"), "\(wrong.errors)")
    let both = ["--spiffe", "spiffe://example.org/other", "--spiffe", "spiffe://example.org/orders"]
    #expect(try await Lastro.run(["fetch"] + lab.trust + both + [server.baseURL]).text == "answer")
    let rootless = try await Lastro.run(["fetch", "--spiffe", "spiffe://example.org/orders", server.baseURL])
    #expect(rootless.status == 35 && rootless.errors.contains("with --cacert"), "\(rootless.errors)")
    let broken = try await lab.fetch(server, "--spiffe", "example.org/orders")
    #expect(broken.status != 0 && broken.errors.contains("does not begin with spiffe://"), "\(broken.errors)")
    let line =
      #"{"url":"\#(server.baseURL)","cacert":"\#(lab.rootFile)","spiffe":["spiffe://example.org/orders"]}"# + "\n"
    #expect(try await Lastro.run(["batch"], input: line).jsonLines().map(\.status) == [200])
  }

  @Test("--key-log writes secrets; SSLKEYLOGFILE in the environment neither writes nor creates a file")
  func keyLog() async throws {
    let server = try lab.server(leaf)
    let environment = ["SSLKEYLOGFILE": lab.directory.file("environment.log")]
    let flags = ["fetch"] + lab.trust
    #expect(try await Lastro.run(flags + [server.baseURL], environment: environment).text == "answer")
    let pins = ["pins"] + lab.trust + ["localhost:\(server.port)"]
    #expect(try await Lastro.run(pins, environment: environment).status == 0)
    let asked = flags + ["--key-log", lab.directory.file("asked.log"), server.baseURL]
    #expect(try await Lastro.run(asked, environment: environment).text == "answer")
    let link = lab.directory.file("link.log"), target = lab.directory.file("target.log")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    #expect(try await Lastro.run(flags + [server.baseURL], environment: ["SSLKEYLOGFILE": link]).text == "answer")
    for path in [lab.directory.file("environment.log"), target] {
      #expect(!FileManager.default.fileExists(atPath: path), "\(path)")
    }
    #expect(lab.directory.text(of: "asked.log").contains("CLIENT_TRAFFIC_SECRET_0 "))
    let refused = try await Lastro.run(flags + ["--key-log", "/nonexistent/keys", server.baseURL])
    #expect(refused.status == 35 && refused.errors.contains("/nonexistent/keys"))
  }
}
