// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting

/// A site for pages about trust: a root that the engine trusts, an intermediate issuer, and a server for
/// api.example.com.
struct Site: Sendable {
  static let name = "api.example.com"

  let issuer: CertificateAuthority
  /// The initial certificate of the server.
  let certificate: MintedCertificate
  let server: LoopbackServer
  /// The configuration of an engine that opens every connection to the server.
  let engine: CurlConfiguration

  /// - Parameters:
  ///   - keyType: the type of the server's key.
  ///   - edit: changes other TLS settings of the server.
  init(
    _ stage: Stage, keyType: CertificateKeyType = .p256,
    _ edit: (inout LoopbackTLS, CertificateAuthority) throws -> Void = { _, _ in }
  ) throws {
    let root = try CertificateAuthority(commonName: "Example Root")
    issuer = try root.intermediate(commonName: "Example Issuing CA")
    certificate = try issuer.issue(hosts: [Self.name, "192.0.2.7"], days: 0...47, keyType: keyType)
    var tls = LoopbackTLS(certificate)
    try edit(&tls, issuer)
    let path = try stage.socketPath()
    server = try LoopbackServer.http(unixSocketPath: path, tls: tls) { _ in .text("EUR 17.30") }
    var engine = stage.engine
    engine.connection.unixSocketPath = path
    engine.connection.tls.roots = .pem(Array(root.rootPEM.utf8))
    self.engine = engine
  }

  /// Returns a new certificate for the site from the same issuer. It has a new key unless one is given.
  func renewed(key: String? = nil) throws -> MintedCertificate {
    try issuer.issue(hosts: [Self.name], days: 0...47, privateKeyPEM: key)
  }

  func stack(_ edit: (inout TLSOptions) -> Void = { _ in }) throws -> CurlNetworkStack {
    var engine = engine
    edit(&engine.connection.tls)
    return try CurlNetworkStack(engine)
  }
}

struct BankError: Error, Decodable, Sendable { let message: String }

extension HTTPResource where Model == String, APIError == BankError {
  static var balance: Self { balance(at: "https://\(Site.name)/balance") }

  static func balance(at url: String) -> Self {
    .init(
      baseRequestMaking: BaseRequestMaking { try ResourceRequest(url: url) }, decoding: .text, errorDecoding: .json())
  }
}

extension HTTPFetchError {
  /// The stage and code, such as `tls/host_mismatch`.
  var words: String { "\(stage.rawValue)/\(code)" }
}
