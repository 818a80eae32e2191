// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroTesting

/// A server whose key the demo pins and changes. It has its own authority, and a port that the kernel chooses.
struct PinnedSite: Sendable {
  let authority: CertificateAuthority
  let key: MintedCertificate
  let server: LoopbackServer

  /// - Parameter authority: the authority that issues the certificate. Default: a new authority.
  init(_ authority: CertificateAuthority? = nil) throws {
    self.authority =
      try authority ?? CertificateAuthority(commonName: "Bank root").intermediate(commonName: "Bank issuing CA")
    key = try self.authority.issue(hosts: ["localhost"])
    server = try LoopbackServer.http(tls: LoopbackTLS(key)) { _ in .text("EUR 17.30") }
  }

  var balance: HTTPResource<String, ForgeError> {
    let url = server.baseURL + "/balance"
    return HTTPResource(
      baseRequestMaking: BaseRequestMaking { try ResourceRequest(url: url) }, decoding: .text, errorDecoding: .json())
  }

  /// Returns a stack that trusts the authority and uses the judge to decide which servers to trust.
  func stack(_ judge: any ServerTrustJudge) throws -> CurlNetworkStack {
    var engine = CurlConfiguration()
    engine.connection.tls.roots = .pem(Array(authority.rootPEM.utf8))
    engine.connection.tls.trustJudge = judge
    engine.connection.proxy = .none
    return try CurlNetworkStack(engine)
  }

  static func pins(_ keys: MintedCertificate...) throws -> ServerTrustEvaluator.Configuration {
    try .init(pinningPolicies: [
      PinningPolicy("localhost", pins: keys.map { try $0.pin.description })
    ])
  }
}
