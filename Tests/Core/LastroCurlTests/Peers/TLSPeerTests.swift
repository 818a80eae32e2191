// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroCurl
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("nginx: TLS", .peers(.nginx), .timeLimit(.minutes(15)))
struct TLSPeerTests {
  private func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path))) }

  private func stack(_ edit: (inout TLSOptions) -> Void) throws -> CurlNetworkStack {
    try .direct { edit(&$0.connection.tls) }
  }

  @Test("The certificate authority may come from a file or from memory")
  func roots() async throws {
    let nginx = try Peers.nginx
    let url = "https://localhost:\(nginx.ports.tls)/json"
    for roots in [
      TLSOptions.Roots.file(nginx.certificates.authority), .pem(try bytes(nginx.certificates.authority)),
    ] {
      let answer = try await stack { $0.roots = roots }.send(.get, url)
      #expect(answer.response.facts.timings.tls != nil)
    }
    let address = try await stack { $0.roots = .file(nginx.certificates.authority) }
      .send(.get, "https://127.0.0.1:\(nginx.ports.tls)/json")
    #expect(answer200(address))
  }

  private func answer200(_ answer: RawAnswer) -> Bool { answer.response.status.code == 200 }

  @Test("An untrusted authority is refused, and nothing is sent")
  func untrusted() async throws {
    let nginx = try Peers.nginx
    let url = "https://localhost:\(nginx.ports.tls)/json?untrusted"
    for roots in [
      TLSOptions.Roots.system, .file(nginx.certificates.stranger), .pem(try bytes(nginx.certificates.stranger)),
    ] {
      let stack = try stack { $0.roots = roots }
      let error = try await failure { try await stack.send(.get, url) }
      #expect(error.words == "tls/untrusted_certificate")
      #expect(error.attempts.map(\.requestSent) == [false])
      #expect(error.hint != nil)
    }
    #expect(!nginx.accessLog().contains { $0.contains("untrusted") })
  }

  @Test("Roots of one request are not used for the next on the same stack")
  func trustIsPerRequest() async throws {
    let nginx = try Peers.nginx
    let url = "https://localhost:\(nginx.ports.tls)/json"
    let stack = try CurlNetworkStack.direct()
    for roots in [
      TLSOptions.Roots.file(nginx.certificates.authority), .pem(try bytes(nginx.certificates.authority)),
    ] {
      #expect(answer200(try await stack.send(.get, url, options: .connection { $0.tls.roots = roots })))
      let error = try await failure { try await stack.send(.get, url) }
      #expect(error.words == "tls/untrusted_certificate")
    }
  }

  @Test("Unusable roots are reported: a request's when it is sent, the engine's when it is created")
  func unusableRoots() async throws {
    let url = "https://localhost:\(try Peers.nginx.ports.tls)/json"
    for roots in [
      TLSOptions.Roots.file("/nonexistent/ca.pem"), .directory("/nonexistent"), .pem(Array("no certificate".utf8)),
      .pem([]),
    ] {
      let options = RequestOptions.connection { $0.tls.roots = roots }
      let error = try await failure { try await CurlNetworkStack.direct().send(.get, url, options: options) }
      #expect(error.words == "tls/invalid_tls_configuration")
      let refused = #expect(throws: ConfigurationError.self) { try stack { $0.roots = roots } }
      #expect(refused?.message == error.message && refused?.hint == error.hint)
    }
  }

  @Test("A certificate for another name is refused")
  func wrongHost() async throws {
    let nginx = try Peers.nginx
    let options = RequestOptions.connection {
      $0.tls.roots = .file(nginx.certificates.authority)
      $0.resolutions = ["other.test", "a.b.lastro.test", "a.lastro.test"].map {
        .init(host: $0, port: nginx.ports.tls, addresses: ["127.0.0.1"])
      }
    }
    let stack = try CurlNetworkStack.direct()
    for host in ["other.test", "a.b.lastro.test"] {
      let error = try await failure {
        try await stack.send(.get, "https://\(host):\(nginx.ports.tls)/json", options: options)
      }
      #expect(error.words == "tls/host_mismatch", "\(host)")
      #expect(error.attempts.map(\.requestSent) == [false])
    }
    // The certificate is for *.lastro.test.
    #expect(
      answer200(try await stack.send(.get, "https://a.lastro.test:\(nginx.ports.tls)/json", options: options)))
  }

  @Test("Expired, self-signed and incomplete chains are refused, each with its code")
  func judged() async throws {
    let root = try CertificateAuthority()
    let below = try root.intermediate()
    let hosts = ["localhost"]
    let good = try below.issue(hosts: hosts)
    let selfSigned = try CertificateMint.selfSigned(hosts: hosts)
    let expired = try root.issue(hosts: hosts, days: -366 ... -1)
    let early = try root.issue(hosts: hosts, days: 1...366)
    let sites: [(chain: String, key: String, words: String?)] = [
      (good.chainPEM, good.privateKeyPEM, nil),
      (good.certificatePEM, good.privateKeyPEM, "tls/untrusted_certificate"),
      (selfSigned.chainPEM, selfSigned.privateKeyPEM, "tls/untrusted_certificate"),
      (expired.chainPEM, expired.privateKeyPEM, "tls/certificate_expired"),
      (early.chainPEM, early.privateKeyPEM, "tls/certificate_expired"),
    ]
    let nginx = try await NginxPeer.start(sites: sites.map { .init(chainPEM: $0.chain, privateKeyPEM: $0.key) })
    let stack = try stack { $0.roots = .pem(Array(root.rootPEM.utf8)) }
    for (site, port) in zip(sites, nginx.ports.sites) {
      let url = "https://localhost:\(port)/json"
      guard let words = site.words else {
        #expect(answer200(try await stack.send(.get, url)))
        continue
      }
      let error = try await failure { try await stack.send(.get, url) }
      #expect(error.words == words)
      #expect(error.attempts.map(\.requestSent) == [false])
    }
  }

  @Test("TLS 1.2 is the default minimum, and a higher one is enforced")
  func versions() async throws {
    let root = try CertificateAuthority()
    let identity = try root.issue(hosts: ["localhost"])
    let nginx = try await NginxPeer.start(
      sites: ["TLSv1.2", "TLSv1.3"].map {
        .init(chainPEM: identity.chainPEM, privateKeyPEM: identity.privateKeyPEM, protocols: $0)
      })
    func words(_ port: Int, _ minimum: TLSOptions.Version?, _ roots: TLSOptions.Roots) async throws -> String {
      let stack = try stack {
        $0.roots = roots
        if let minimum { $0.minimumVersion = minimum }
      }
      do throws(RawFailure) {
        return "\(try await stack.send(.get, "https://localhost:\(port)/json").response.status.code)"
      } catch {
        return error.words
      }
    }
    let roots = TLSOptions.Roots.pem(Array(root.rootPEM.utf8))
    let refused = "tls/handshake_failed"
    #expect(try await words(nginx.ports.sites[0], nil, roots) == "200")
    #expect(try await words(nginx.ports.sites[1], nil, roots) == "200")
    #expect(try await words(nginx.ports.sites[0], .v1_3, roots) == refused)
    #expect(try await words(nginx.ports.sites[1], .v1_3, roots) == "200")
    #expect(try await words(nginx.ports.obsoleteTLS, nil, .file(nginx.certificates.authority)) == refused)
  }

  @Test("A client certificate may come from files or from memory, and nginx sees its name")
  func clientCertificate() async throws {
    let nginx = try Peers.nginx
    let (certificate, key) = (nginx.certificates.client, nginx.certificates.clientKey)
    let identities: [TLSOptions.Identity] = [
      .init(certificate: .file(certificate), key: .file(key)),
      .init(certificate: .bytes(try bytes(certificate)), key: .bytes(try bytes(key))),
      .init(certificate: .bytes(try bytes(certificate) + bytes(key))),
    ]
    for identity in identities {
      let stack = try stack {
        $0.roots = .file(nginx.certificates.authority)
        $0.identity = identity
      }
      let answer = try await stack.send(.get, "https://localhost:\(nginx.ports.clientCertificate)/echo")
      #expect(answer.text.contains("CN=client"))
    }
  }

  @Test("Without a client certificate nginx responds 400; a connection with one does not serve requests without")
  func noClientCertificate() async throws {
    let nginx = try Peers.nginx
    let url = "https://localhost:\(nginx.ports.clientCertificate)/echo"
    let stack = try stack { $0.roots = .file(nginx.certificates.authority) }
    let options = RequestOptions.connection {
      $0.tls.roots = .file(nginx.certificates.authority)
      $0.tls.identity = .init(
        certificate: .file(nginx.certificates.client), key: .file(nginx.certificates.clientKey))
    }
    #expect(answer200(try await stack.send(.get, url, options: options)))
    let error = try await failure { try await stack.send(.get, url) }
    #expect(error.statusCode?.code == 400)
  }

  @Test("An unusable client certificate is reported, and nothing is sent")
  func unusableClientCertificate() async throws {
    let nginx = try Peers.nginx
    let identities: [TLSOptions.Identity] = [
      .init(certificate: .file("/nonexistent/client.pem")),
      .init(certificate: .bytes(Array("no certificate".utf8))),
      .init(certificate: .file(nginx.certificates.client), key: .file(nginx.certificates.serverKey)),
    ]
    for identity in identities {
      let stack = try stack {
        $0.roots = .file(nginx.certificates.authority)
        $0.identity = identity
      }
      let error = try await failure {
        try await stack.send(.get, "https://localhost:\(nginx.ports.clientCertificate)/echo")
      }
      #expect(error.words == "tls/invalid_tls_configuration")
      #expect(error.attempts.map(\.requestSent) == [false])
    }
  }
}
