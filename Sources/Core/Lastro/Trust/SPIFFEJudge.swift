// SPDX-License-Identifier: Apache-2.0

/// Accepts servers by the SPIFFE ID that `TLSOptions.peer` requires, in place of the host name. It is asked before all
/// other judges, because they judge servers whose name was verified.
///
/// Proxies are accepted: their host name is verified.
package final class SPIFFEJudge: ServerTrustJudge {
  private let required: TLSOptions.Peer

  /// Creates a judge; `nil` if the host name is verified.
  package init?(_ required: TLSOptions.Peer) {
    if required == .hostName { return nil }
    self.required = required
  }

  package func judge(_ trust: ServerTrust) throws(TrustFailure) -> TrustVerdict {
    guard trust.role == .server else { return .validated }
    do throws(SVIDFault) {
      guard let leaf = trust.chain.first else { throw SVIDFault(text: "shows no certificate") }
      let id = try leaf.workloadID()
      guard required.accepts(id) else { throw SVIDFault(text: "shows \(id)") }
      return .spiffe
    } catch {
      throw TrustFailure(.wrongSPIFFEID("it \(error.text), and \(shown) is required"), trust: trust)
    }
  }

  package func judgePlaintext(host: HostName, port: Int) throws(TrustFailure) -> TrustVerdict {
    throw TrustFailure(.plaintext, trust: ServerTrust(host: host, port: port, chain: []))
  }

  package func explanation(for host: HostName) -> String { "the certificate must prove \(shown)" }

  private var shown: String { "\(required)".cut(to: 400) }
}
