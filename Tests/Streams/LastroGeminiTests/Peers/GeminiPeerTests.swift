// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroCurl
import LastroGemini
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("Gemini with third-party servers", .timeLimit(.minutes(15)))
struct GeminiPeerTests {
  static func client(_ change: (inout GeminiConfiguration) -> Void = { _ in }) -> GeminiClient {
    var configuration = GeminiConfiguration()
    configuration.connectTimeout = .seconds(60)
    configuration.headerTimeout = .seconds(120)
    configuration.idleTimeout = .seconds(120)
    change(&configuration)
    return GeminiClient(dialer: CurlNetworkStack.sharedDialer, configuration: configuration)
  }

  @Test("molly-brown serves pages, files, redirects, missing pages and certificate zones")
  func mollyBrown() async throws {
    let peer = try await MollyBrownPeer.start()
    defer { peer.stop() }
    let client = Self.client()
    let page = try await client.fetch(peer.url("/")).collected()
    #expect(page.status == .success && page.header.mediaType == "text/gemini")
    #expect(page.text == "# Molly\n=> /big.bin A file\n" && page.facts.trust == .firstUse)
    var lines = 0
    for try await _ in page.gemtext { lines += 1 }
    #expect(lines == 2)
    let file = try await client.fetch(peer.url("/big.bin")).collected()
    #expect(file.data == Data(repeating: 7, count: 1_000_000) && file.facts.trust == .knownHost)
    #expect(try await client.fetch(peer.url("/none")).status == .notFound)
    let moved = try await client.fetch(peer.url("/old")).collected()
    #expect(moved.text == page.text && moved.redirects.count == 1)
    #expect(try await client.fetch(peer.url("/private/page.gmi")).status.rawValue == 60)
    let files = try CertificateFiles(CertificateMint.selfSigned(hosts: ["me"]))
    let identities = GeminiIdentities()
    identities.add(
      .init(certificate: .file(files.chain), key: .file(files.privateKey)), for: try GeminiURL(peer.url("/private")))
    let known = Self.client { $0.identities = identities }
    #expect(try await known.fetch(peer.url("/private/page.gmi")).status.rawValue == 61)
  }

  @Test("jetforce serves pages, prompts, client certificates by scope, and slow down")
  func jetforce() async throws {
    let peer = try await JetforcePeer.start()
    defer { peer.stop() }
    let client = Self.client { $0.onInput = { _ in "a b+c" } }
    let page = try await client.fetch(peer.url("/")).collected()
    #expect(page.text == "# Jetforce\n" && page.facts.trust == .firstUse)
    let input = try await client.fetch(peer.url("/cgi-bin/input")).collected()
    #expect(input.text == "a%20b%2Bc" && input.url.input == "a b+c")
    #expect(try await client.fetch(peer.url("/cgi-bin/slow")).header.slowDown == .seconds(7))
    #expect(try await client.fetch(peer.url("/cgi-bin/who")).status.rawValue == 60)
    #expect(try await client.fetch(peer.url("/none")).status == .notFound)
    let files = try CertificateFiles(CertificateMint.selfSigned(hosts: ["me"]))
    let identities = GeminiIdentities()
    identities.add(
      .init(certificate: .file(files.chain), key: .file(files.privateKey)),
      for: try GeminiURL(peer.url("/cgi-bin/who")))
    let known = Self.client { $0.identities = identities }
    #expect(try await known.fetch(peer.url("/cgi-bin/who")).collected().text == "me")
    #expect(try await known.fetch(peer.url("/cgi-bin/input")).status.rawValue == 10)
  }
}
