// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import FoundationEssentials
import LastroTesting
import Logging
import Testing

@testable import Lastro
@testable import LastroCurl

@Suite("Trust: announced ends of client certificates", .timeLimit(.minutes(15)))
struct ExpiryLogTests {
  private let lines = EventRecorder<(text: String, metadata: Logger.Metadata)>()
  private let authority: CertificateAuthority
  private let log: ExpiryLog

  init() throws {
    authority = try CertificateAuthority()
    log = ExpiryLog { [lines] in lines.record(($0, $1)) }
  }

  /// Returns an identity that ends at the given time, in days from now.
  private func identity(_ name: String, days: Int) throws -> (content: ClientIdentity, options: TLSOptions.Identity) {
    let certificate = try authority.issue(hosts: [], commonName: name, days: -300...days)
    let options = TLSOptions.Identity(
      certificate: .bytes(Array(certificate.chainPEM.utf8)), key: .bytes(Array(certificate.privateKeyPEM.utf8)))
    return (try ClientIdentity.shared(options), options)
  }

  @Test("A certificate is announced once a day while its end is near")
  func daily() throws {
    let now = Date.now
    let near = try identity("near", days: 10).content
    let far = try identity("far", days: 60).content
    for hours in [0, 1, 23] {
      for identity in [near, far] { log.note(identity, at: now + Double(hours) * 3_600) }
    }
    #expect(lines.events.count == 1)
    #expect(lines.events[0].text == "a client certificate expires in 9 days")
    #expect(lines.events[0].metadata["subject"] == "CN=near")
    #expect(lines.events[0].metadata["expires"] == "\(try #require(near.expiry).end.inCalendar)")
    for identity in [near, far] { log.note(identity, at: now + 86_400) }
    #expect(lines.events.map(\.text).last == "a client certificate expires in 8 days")
    log.note(near, at: now + 20 * 86_400)
    #expect(lines.events.map(\.text).last == "a client certificate has expired")
    #expect(lines.events.count == 3)
  }

  @Test("Each certificate is announced, and the renewed one is not")
  func several() throws {
    let now = Date.now
    for name in ["one", "two"] { log.note(try identity(name, days: 3).content, at: now) }
    log.note(try identity("one", days: 300).content, at: now)
    #expect(lines.events.map { $0.metadata["subject"] } == ["CN=one", "CN=two"])
  }

  @Test("A certificate is announced once, however its chain is written, and again if its key gets another end")
  func sameLeaf() throws {
    let now = Date.now
    let first = try authority.issue(hosts: [], commonName: "client", days: -300...3)
    let later = try authority.issue(
      hosts: [], commonName: "client", days: -300...4, privateKeyPEM: first.privateKeyPEM)
    for (chain, count) in [(first.chainPEM, 1), (first.chainPEM + "\nroot\n", 1), (later.chainPEM, 2)] {
      let options = TLSOptions.Identity(
        certificate: .bytes(Array(chain.utf8)), key: .bytes(Array(first.privateKeyPEM.utf8)))
      log.note(try ClientIdentity.shared(options), at: now)
      #expect(lines.events.count == count)
    }
  }

  @Test("A connection reports for how long its client certificate is valid")
  func connections() async throws {
    let lab = try TestAuthority()
    var tls = try lab.tls()
    tls.clientAuthoritiesPEM = authority.rootPEM
    let server = try LoopbackServer(tls: tls) { try $0.serveHTTP { _ in .text("hello") } }
    let changes = EventRecorder<ConnectionChange>()
    let identity = try identity("client", days: 10).options
    let engine = try CurlTransport.with {
      $0.connection = lab.options { $0.tls.identity = identity }
      $0.connectionObserver = { changes.record($0) }
    }
    _ = try await engine.execute(.to(server, "/"))
    let validity = try #require(changes.events.first?.clientCertificateValidity)
    #expect(validity > .seconds(9 * 86_400) && validity <= .seconds(10 * 86_400))

    let plain = try LoopbackServer(tls: lab.tls()) { try $0.serveHTTP { _ in .text("hello") } }
    let before = changes.events.count
    _ = try await engine.execute(.to(plain, "/") { $0.connection = lab.options() })
    #expect(changes.events.count > before)
    #expect(changes.events.dropFirst(before).allSatisfy { $0.clientCertificateValidity == nil })
  }
}
