// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

/// What the options of a handle follow from, but for those that every transfer sets: with equal settings, options are
/// equal. So a handle need not be reset for a request like its last one.
struct HandleSetting: Equatable {
  /// Scheme and authority, and with them proxy and client certificate.
  private let host: HostQueue.Key
  private let connectTimeout: Duration?
  private let isStreamed: Bool

  /// `nil` for a request whose options are more than a common one's.
  init?(_ transfer: Transfer) {
    let job = transfer.job
    guard job.request.body.isEmpty, job.request.head.method == .get, !job.isInspection else { return nil }
    host = transfer.host.key
    connectTimeout = job.request.connectTimeout
    isStreamed = job.body != nil
  }
}
