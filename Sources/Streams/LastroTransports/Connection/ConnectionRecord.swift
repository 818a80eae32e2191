// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP

/// The dial of a connection and its end, for tasks that wait until the connection is outdated.
struct ConnectionRecord: Sendable {
  /// The facts of the dialed stream; `nil` before it is open.
  var facts: StreamFacts?
  /// The dial, with the trust rules before it; `nil` before it has begun.
  var origin: LinkOrigin?
  /// Whether the connection has failed or was cancelled.
  var hasEnded = false
}
