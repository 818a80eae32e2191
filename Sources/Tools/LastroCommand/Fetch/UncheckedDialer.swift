// SPDX-License-Identifier: Apache-2.0

import Lastro

/// A dialer that accepts any certificate of hosts that are near, as `-k` asks for. All other hosts are checked.
struct UncheckedDialer: Dialer {
  let base: any Dialer
  /// The hosts that `--resolve` maps to near addresses alone.
  let mapped: Set<String>

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    try await base.dial(unchecked(request))
  }

  private func unchecked(_ request: DialRequest) -> DialRequest {
    var request = request
    if request.tls != nil, NearHost.contains(request.host) || mapped.contains(request.host.lowercased()) {
      request.tls?.soleJudge = AnyServer.judge
    }
    return request
  }

  func checkPlaintext(_ request: DialRequest) throws(TransportError) { try base.checkPlaintext(request) }
  func trustRevisions(for request: DialRequest) -> [UInt64] { base.trustRevisions(for: unchecked(request)) }

  /// A judge that accepts every server.
  private final class AnyServer: ServerTrustJudge {
    static let judge = AnyServer()

    func judge(_ trust: ServerTrust) -> TrustVerdict { .plain }
  }
}
