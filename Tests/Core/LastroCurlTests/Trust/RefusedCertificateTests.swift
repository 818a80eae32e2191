// SPDX-License-Identifier: Apache-2.0

import CurlSupport
import Foundation
import Lastro
import LastroCurl
import LastroTesting
import TestSupport
import Testing

/// The report about a certificate that OpenSSL refused, for every place in which TLS is used.
@Suite("Refused certificates", .timeLimit(.minutes(15)))
struct RefusedCertificateTests {
  enum Place: String, CaseIterable, CustomTestStringConvertible {
    case fetch, proxy, stream, tlsOverStream

    var testDescription: String { rawValue }
  }

  private struct Refusal {
    var words: String
    var line: String
    var certificate: PeerCertificate?
    var report: String?
  }

  private let lab: TestAuthority

  init() throws { lab = try TestAuthority() }

  /// Returns the refusal when the server or the proxy presents a certificate, and the owner that the report names.
  private func refusal(_ place: Place, _ identity: MintedCertificate) async throws -> (Refusal, owner: String) {
    let server = try LoopbackServer(tls: LoopbackTLS(identity)) { try $0.echo() }
    let name = "localhost:\(server.port)"
    switch place {
    case .fetch, .proxy:
      let stack = try CurlNetworkStack.direct {
        $0.connection.tls.roots = .pem(Array(lab.authority.rootPEM.utf8))
        if place == .proxy { $0.connection.proxy = .url("https://\(name)") }
      }
      let url = place == .proxy ? "http://a.example/" : "https://\(name)/"
      let error = try await failure { try await stack.send(.get, url) }
      #expect(server.receivedBytes == 0)
      let refusal = Refusal(
        words: error.words, line: "\(error)", certificate: error.refusedCertificate, report: error.debugDescription)
      return (refusal, place == .proxy ? "the proxy \(name)" : name)
    case .stream, .tlsOverStream:
      let engine = try TestAuthority.engine { $0.connection = lab.options() }
      let dialer: any Dialer = place == .stream ? engine : lab.dialer()
      let error = try await transportError { try await dialer.dial(server.request()) }
      return (Refusal(words: error.words, line: "\(error)", certificate: error.refusedCertificate), name)
    }
  }

  @Test("The error states the dates of a certificate that is expired or not yet valid", arguments: Place.allCases)
  func dates(place: Place) async throws {
    for (days, words) in [(-366 ... -1, "has expired: it was"), (1...366, "is not valid yet: it is")] {
      let identity = try lab.authority.issue(hosts: ["localhost"], days: days)
      let (refusal, owner) = try await refusal(place, identity)
      let certificate = try #require(PeerCertificate.certificates(pem: identity.certificatePEM).first)
      let facts = try #require(certificate.facts)
      let dates = "from \(facts.notBefore.formatted(.iso8601)) to \(facts.notAfter.formatted(.iso8601))"
      #expect(refusal.words == (place == .proxy ? "proxy" : "tls") + "/certificate_expired")
      #expect(refusal.line.contains("the certificate of \(owner) \(words) valid \(dates) ("), "\(refusal.line)")
      #expect(refusal.certificate == certificate)
      if let report = refusal.report {
        #expect(report.contains("refused certificate: \(certificate.pin)"), "\(report)")
      }
    }
  }

  @Test(
    "The error lists the names of a certificate for other hosts: a few, shortened and escaped",
    arguments: Place.allCases)
  func names(place: Place) async throws {
    let hosts = ["192.0.2.1", "2001:db8::1", "*.example.org", "a b\u{1B}[31m\n", String(repeating: "x", count: 200)]
    let others = (1...5).map { "h\($0).example" }
    let (refusal, owner) = try await refusal(place, try lab.authority.issue(hosts: hosts + others, commonName: "a"))
    let told =
      #"192.0.2.1, 2001:db8::1, *.example.org, "a b\u{1B}[31m\n", \#(String(repeating: "x", count: 80))…, "#
      + "h1.example, h2.example, h3.example and 2 more"
    #expect(refusal.words == (place == .proxy ? "proxy" : "tls") + "/host_mismatch")
    #expect(refusal.line.contains("the certificate of \(owner) is for other names: \(told) ("), "\(refusal.line)")
    #expect(refusal.certificate?.names == hosts + others)
  }

  @Test("A certificate without alternative names is reported as such")
  func nameless() async throws {
    let (refusal, owner) = try await refusal(.fetch, try lab.authority.issue(hosts: [], commonName: "localhost"))
    let text = "the certificate of \(owner) names no host: it has no subject alternative name, and a common name does"
    #expect(refusal.words == "tls/host_mismatch" && refusal.line.contains(text), "\(refusal.line)")
    #expect(refusal.certificate?.names == [])
  }

  @Test("If an issuer's certificate has expired, the error names that certificate")
  func issuer() async throws {
    let below = try lab.authority.intermediate(days: -366 ... -1)
    let (refusal, owner) = try await refusal(.fetch, try below.issue(hosts: ["localhost"]))
    let text =
      "a certificate in the certificate chain of \(owner) has expired: CN=Loopback intermediate was valid from "
    #expect(refusal.words == "tls/certificate_expired" && refusal.line.contains(text), "\(refusal.line)")
    #expect(refusal.certificate?.facts?.isAuthority == true)
  }

  @Test("An untrusted certificate is kept in the error; one that a judge refuses is not")
  func others() async throws {
    let stranger = try CertificateAuthority().issue(hosts: ["localhost"])
    let (refusal, _) = try await refusal(.fetch, stranger)
    #expect(refusal.words == "tls/untrusted_certificate" && refusal.certificate != nil)
    let server = try LoopbackServer(tls: lab.tls()) { try $0.echo() }
    let pinned = try TestAuthority.evaluator("localhost", pin: TestAuthority.absentPin)
    let error = try await transportError { try await lab.dialer { $0.trustJudge = pinned }.dial(server.request()) }
    #expect(error.trustFailure != nil && error.refusedCertificate == nil)
  }
}
