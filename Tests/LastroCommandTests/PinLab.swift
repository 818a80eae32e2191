// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import PeerSupport
import Testing

/// A root, an intermediate, and servers with keys of theirs, for the program to connect to.
struct PinLab {
  let root: CertificateAuthority
  let issuer: CertificateAuthority
  let directory: PeerDirectory
  /// Pin of a key that nobody has.
  static let absent = "sha256/" + String(repeating: "A", count: 43) + "="

  init() throws {
    root = try CertificateAuthority()
    issuer = try root.intermediate()
    directory = try PeerDirectory()
    try directory.write(root.rootPEM, to: "roots/root.pem")
  }

  var rootFile: String { directory.file("roots/root.pem") }
  var trust: [String] { ["--cacert", rootFile] }

  func leaf(_ hosts: String..., type: CertificateKeyType = .p256) throws -> MintedCertificate {
    try issuer.issue(hosts: hosts, keyType: type)
  }

  func server(
    _ identity: MintedCertificate, _ edit: (inout LoopbackTLS) -> Void = { _ in }
  ) throws -> LoopbackServer {
    var tls = LoopbackTLS(identity)
    edit(&tls)
    return try LoopbackServer.http(tls: tls) { _ in .text("answer") }
  }

  /// Runs `lastro fetch` for a server, trusting the root.
  func fetch(_ server: LoopbackServer, _ flags: String...) async throws -> Lastro.Result {
    try await Lastro.run(["fetch"] + trust + flags + [server.baseURL])
  }

  func pins(_ flags: String...) async throws -> Lastro.Result { try await Lastro.run(["pins"] + trust + flags) }

  func policyFile(_ policies: [[String: Any]], allowsOthers: Bool? = nil) throws -> String {
    var object: [String: Any] = ["policies": policies]
    if let allowsOthers { object["allowNotPinnedDomains"] = allowsOthers }
    return try directory.write(JSONSerialization.data(withJSONObject: object), to: "policy-\(UUID().uuidString).json")
  }

  /// Pin of a certificate's key, as OpenSSL's library has it.
  static func pin(_ certificate: MintedCertificate) throws -> String {
    "sha256/" + Data(try certificate.publicKeySHA256()).base64EncodedString()
  }

  /// Pin of the first certificate of a PEM file, as the `openssl` program has it.
  func openSSLPin(_ file: String) async throws -> String {
    let base64 = try await OpenSSLProgram.run(
      "openssl x509 -in \(file) -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
      in: directory)
    return "sha256/" + base64.filter { !$0.isWhitespace }
  }
}
