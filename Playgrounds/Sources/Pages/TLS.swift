// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

func roots(_ engine: inout CurlConfiguration) {
  // sample: roots
  engine.connection.tls.roots = .file("/etc/bank/roots.pem")
  // end
}

func identities(_ engine: inout CurlConfiguration) {
  // sample: identities
  engine.connection.tls.hostIdentities["api.example.com"] = TLSOptions.Identity(
    certificate: .file("/etc/bank/client.pem"), key: .file("/etc/bank/client.key"))
  // end
}

func rotation(_ engine: inout CurlConfiguration, chain: [UInt8], key: [UInt8]) -> RotatingIdentity {
  // sample: rotation
  let identity = RotatingIdentity(TLSOptions.Identity(certificate: .bytes(chain), key: .bytes(key)))
  engine.connection.tls.hostIdentities["api.example.com"] = TLSOptions.Identity(identity)
  // end
  return identity
}

func renewal(_ identity: RotatingIdentity, chain: [UInt8], key: [UInt8]) {
  // sample: renewal
  identity.replace(with: TLSOptions.Identity(certificate: .bytes(chain), key: .bytes(key)))
  // end
}

func workload(_ engine: inout CurlConfiguration) throws {
  // sample: peer
  engine.connection.tls.roots = .file("/run/spiffe/bundle.pem")
  engine.connection.tls.peer = .spiffe([try SPIFFEID("spiffe://example.org/shop/orders")])
  // end
}

func strictness(_ engine: inout CurlConfiguration) {
  // sample: strictness
  engine.connection.tls.minimumVersion = .v1_3
  engine.connection.tls.cipherSuites = ["TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
  engine.connection.tls.requiresStrictChain = true
  engine.connection.tls.requiresStapledStatus = true
  // end
}

func keyLog(_ engine: inout CurlConfiguration, path: String) {
  // sample: key log
  engine.connection.tls.keyLogFile = path
  // end
}

extension Page {
  static let tls = Page("TLS") { stage in
    var engine = stage.engine
    roots(&engine)
    identities(&engine)
    strictness(&engine)
    try workload(&engine)
    stage.check("the identity is for one host", engine.connection.tls.hostIdentities.count == 1)
    renewal(rotation(&engine, chain: [1], key: [2]), chain: [3], key: [4])
    let current = engine.connection.tls.hostIdentities["api.example.com"]
    stage.check("the identity is the latest", current?.certificate == .bytes([3]) && current?.key == .bytes([4]))
    try await failuresToldApart(stage)
    try await clientCertificates(stage)
    try await otherNames(stage)
    try await sources(stage)
    try await strictChecks(stage)
    try await loggedKeys(stage)
  }
}

private func words(_ stack: CurlNetworkStack, at url: String = "https://\(Site.name)/") async -> String {
  do {
    return try await stack.fetch(.balance(at: url)).response.facts.trust?.rawValue ?? ""
  } catch {
    return error.words
  }
}

private func failuresToldApart(_ stage: Stage) async throws {
  let site = try Site(stage)
  let other = try CertificateAuthority()
  let foreign = try site.stack { $0.roots = .pem(Array(other.rootPEM.utf8)) }
  stage.check("another root", await words(foreign) == "tls/untrusted_certificate")
  stage.check("another host", await words(try site.stack(), at: "https://example.org/") == "tls/host_mismatch")
  let expired = try Site(stage) { $0.identity = try $1.issue(hosts: [Site.name], days: -366 ... -1) }
  stage.check("an expired certificate", await words(try expired.stack()) == "tls/certificate_expired")
  let future = try Site(stage) { $0.identity = try $1.issue(hosts: [Site.name], days: 1...366) }
  stage.check("one of tomorrow", await words(try future.stack()) == "tls/certificate_expired")
  let unnamed = try Site(stage) { $0.identity = try $1.issue(hosts: [], commonName: Site.name) }
  stage.check("a common name alone", await words(try unnamed.stack()) == "tls/host_mismatch")
  let alone = try Site(stage) { $0.identity = try $1.issue(hosts: [Site.name]).withoutIntermediates }
  stage.check("a missing intermediate", await words(try alone.stack()) == "tls/untrusted_certificate")
  let old = try Site(stage) { tls, _ in tls.maximumVersion = .v1_2 }
  let modern = try old.stack { $0.minimumVersion = .v1_3 }
  stage.check("no version in common", await words(modern) == "tls/handshake_failed")
  let misspelt = try site.stack { $0.cipherSuites = ["TLS_AES_512"] }
  stage.check("an unknown cipher", await words(misspelt) == "tls/invalid_tls_configuration")
  let unstapled = try site.stack { $0.requiresStapledStatus = true }
  stage.check("no stapled status", await words(unstapled) == "tls/certificate_status_invalid")
}

private func clientCertificates(_ stage: Stage) async throws {
  let site = try Site(stage) { tls, issuer in
    tls.clientAuthoritiesPEM = issuer.rootPEM
    // With TLS 1.3 the rejection arrives after the handshake, and may appear as a lost connection.
    tls.maximumVersion = .v1_2
  }
  let client = try site.issuer.issue(hosts: [], commonName: "client")
  let identity = TLSOptions.Identity(
    certificate: .bytes(Array(client.chainPEM.utf8)), key: .bytes(Array(client.privateKeyPEM.utf8)))
  stage.check(
    "a client certificate is presented",
    await words(try site.stack { $0.hostIdentities["API.example.com."] = identity }) == "validated")
  let elsewhere = await words(try site.stack { $0.hostIdentities["example.org"] = identity })
  stage.check("not where it is for another host", elsewhere == "tls/client_certificate_required")
}

private func otherNames(_ stage: Stage) async throws {
  let site = try Site(stage)
  let orders = try SPIFFEID("spiffe://example.org/shop/orders")
  let unnamed = try site.stack { $0.peer = .spiffe([orders]) }
  stage.check("a host name is not an ID", await words(unnamed) == "trust/spiffe_id_mismatch")
}

private func sources(_ stage: Stage) async throws {
  let site = try Site(stage)
  guard case .pem(let root) = site.engine.connection.tls.roots else { return }
  let path = try stage.socketPath() + ".pem"
  try Data(root).write(to: URL(filePath: path))
  stage.check("roots from a file", await words(try site.stack { $0.roots = .file(path) }) == "validated")
  let missing = try? site.stack { $0.roots = .file("/nonexistent") }
  stage.check("an engine whose roots are not there is not made", missing == nil)
}

private func strictChecks(_ stage: Stage) async throws {
  let site = try Site(stage) { tls, issuer in
    tls.identity = try issuer.issue(hosts: [Site.name], hasKeyIdentifiers: false)
  }
  stage.check("by default key identifiers may be missing", await words(try site.stack()) == "validated")
  let strict = try site.stack { $0.requiresStrictChain = true }
  stage.check("not where checks are strict", await words(strict) == "tls/untrusted_certificate")
  let stapling = try Site(stage) { tls, issuer in tls.ocspResponse = try issuer.ocspResponse(for: tls.identity) }
  stage.check(
    "a good stapled status passes", await words(try stapling.stack { $0.requiresStapledStatus = true }) == "validated")
}

private func loggedKeys(_ stage: Stage) async throws {
  let site = try Site(stage)
  let path = try stage.socketPath() + ".keys"
  var engine = site.engine
  keyLog(&engine, path: path)
  let stack = try CurlNetworkStack(engine)
  _ = try await stack.fetch(.balance)
  // A separate thread writes the lines. Shutting down the engine waits for that thread.
  await stack.shutDown()
  let text = try String(contentsOf: URL(filePath: path), encoding: .utf8)
  stage.check("the secrets of connections are logged", text.contains("CLIENT_TRAFFIC_SECRET_0 "))
}
