// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import Lastro

extension TransferFacts {
  init(
    _ facts: clastro_facts, remoteAddress: String?, remotePort: Int?, localPort: Int?, resends: Int,
    trust: TrustVerdict?,
    queued: Int64, elapsed: Int64
  ) {
    func phase(_ microseconds: Int64) -> Duration? { microseconds > 0 ? .microseconds(microseconds) : nil }
    self.init(
      httpVersion: Self.name(ofVersion: facts.http_version),
      remoteAddress: remoteAddress, remotePort: remotePort, connectionID: localPort.map(Int64.init),
      connectionReused: remoteAddress != nil && facts.new_connections == 0,
      bytesSent: facts.request_size + facts.upload_size, bytesReceived: facts.download_size, resends: resends,
      trust: trust,
      timings: Timings(
        nameLookup: phase(facts.name_lookup), connect: phase(facts.connect), tls: phase(facts.app_connect),
        requestStart: phase(facts.pre_transfer), firstByte: phase(facts.start_transfer),
        // libcurl's own total stands still while nothing happens, so it is short for what was given up.
        total: .nanoseconds(max(facts.total * 1_000, elapsed)), queued: .nanoseconds(max(0, queued))))
  }

  /// - Parameter version: as libcurl's `CURL_HTTP_VERSION_…`.
  private static func name(ofVersion version: Int) -> String? {
    switch version {
    case 1: "1.0"
    case 2: "1.1"
    case 3: "2"
    default: nil
    }
  }
}
