// SPDX-License-Identifier: Apache-2.0

package import Lastro
package import LastroCurl
package import LastroTesting
internal import TestSupport
internal import Testing

/// A certificate authority that clients trust, with servers, dialers and trust judges that use it.
package struct TestAuthority {
  package let authority: CertificateAuthority
  /// The dialer of plain streams. The transports add TLS.
  package let base: CurlTransport

  package init() throws {
    authority = try CertificateAuthority()
    base = try Self.engine()
  }

  // MARK: clients

  /// Returns a dialer that uses no proxy, and does not trust the authority.
  package static func engine(_ edit: (inout CurlConfiguration) -> Void = { _ in }) throws -> CurlTransport {
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    edit(&configuration)
    return try CurlTransport(configuration)
  }

  /// Returns options that trust the authority and use no proxy.
  package func options(_ edit: (inout ConnectionOptions) -> Void = { _ in }) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.tls.roots = roots
    options.proxy = .none
    edit(&options)
    return options
  }

  package var roots: TLSOptions.Roots { .pem(Array(authority.rootPEM.utf8)) }

  /// Returns a dialer that adds TLS to the plain streams of `base`.
  package func dialer(_ edit: (inout TLSOptions) -> Void = { _ in }) -> TLSDialer {
    TLSDialer(over: base, connection: options { edit(&$0.tls) })
  }

  // MARK: servers

  package func identity(_ hosts: String...) throws -> MintedCertificate { try authority.issue(hosts: hosts) }

  package func tls(_ hosts: String...) throws -> LoopbackTLS {
    LoopbackTLS(try authority.issue(hosts: hosts.isEmpty ? ["localhost", "127.0.0.1"] : hosts))
  }

  package func echo(_ edit: (inout LoopbackTLS) -> Void = { _ in }) throws -> LoopbackServer {
    var tls = try tls()
    edit(&tls)
    return try LoopbackServer(tls: tls) { try $0.echo() }
  }

  // MARK: pins

  /// Pins that match no server's key.
  package static let absentPin = "sha256/" + String(repeating: "A", count: 43) + "="
  package static let sparePin = "sha256/" + String(repeating: "B", count: 43) + "="

  package static func pin(_ certificate: MintedCertificate) throws -> String {
    try SPKIHash(pem: certificate.certificatePEM).description
  }

  package static func policy(
    _ host: String, _ pins: String..., mode: PinningPolicy.Mode = .enforce, subdomains: Bool = false
  ) throws -> PinningPolicy {
    try PinningPolicy(
      host, includeSubdomains: subdomains, pins: Set(pins + [sparePin]), mode: mode)
  }

  package static func configuration(
    _ policies: PinningPolicy..., allowsOthers: Bool = true
  ) throws -> ServerTrustEvaluator.Configuration {
    try .init(pinningPolicies: policies, allowNotPinnedDomains: allowsOthers)
  }

  package static func evaluator(
    _ policies: PinningPolicy..., allowsOthers: Bool = true
  ) throws -> ServerTrustEvaluator {
    ServerTrustEvaluator(configuration: try .init(pinningPolicies: policies, allowNotPinnedDomains: allowsOthers))
  }

  /// Returns an evaluator that requires a pin for a host.
  package static func evaluator(
    _ host: String, pin: String, allowsOthers: Bool = true
  ) throws -> ServerTrustEvaluator {
    try evaluator(policy(host, pin), allowsOthers: allowsOthers)
  }
}
