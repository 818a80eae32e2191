// SPDX-License-Identifier: Apache-2.0

internal import CLastro
internal import LastroHTTP

extension LinkDelivery {
  /// Reads the delivery state of a socket from the kernel (`SIOCOUTQ`, `TCP_INFO`); `nil` if it is not available.
  init?(of socket: Int32, now: Int64) {
    var delivery = clastro_delivery()
    guard clastro_read_delivery(socket, &delivery) else { return nil }
    self.init(
      acknowledged: delivery.acknowledged, queued: UInt64(delivery.queued),
      acknowledgedAt: delivery.is_held ? nil : now - Int64(delivery.acknowledged_milliseconds_ago) * 1_000_000)
  }
}
