// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
internal import Lastro

/// What the options of a handle follow from, but for those that every transfer sets: with equal settings, options are
/// equal. So a handle can have those of a template (``HandleTemplates``).
struct HandleSetting: Equatable {
  /// Scheme and authority, and with them proxy and client certificate.
  private let host: HostQueue.Key
  private let connectTimeout: Duration?
  private let isStreamed: Bool

  /// `nil` for a request whose options are more than a common one's.
  init?(_ job: TransferJob, on host: HostQueue) {
    guard job.request.body.isEmpty, job.request.head.method == .get, !job.isInspection else { return nil }
    self.host = host.key
    connectTimeout = job.request.connectTimeout
    isStreamed = job.body != nil
  }
}
