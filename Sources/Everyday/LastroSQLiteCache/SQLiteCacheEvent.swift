// SPDX-License-Identifier: Apache-2.0

import Lastro

/// An event of a store that its owner may want to know about. It has not failed any fetch.
package enum SQLiteCacheEvent: Sendable, Hashable, CustomStringConvertible {
  /// The database was corrupt or not an SQLite database. All responses were deleted, and the store was created afresh.
  case rebuilt(reason: String)
  /// A response could not be read or stored, for example because the disk is full.
  case failed(reason: String)
  /// Three writes failed in a row: nothing is written for the given time.
  case paused(Duration)

  /// A sentence for a log.
  package var description: String {
    switch self {
    case .rebuilt(let reason): "the cache was emptied and created afresh: \(reason)"
    case .failed(let reason): "the cache cannot read or store a response: \(reason)"
    case .paused(let duration): "the cache writes nothing for \(duration.brief), because three writes failed in a row"
    }
  }
}
