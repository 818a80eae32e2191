// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// An offer to a user of the shop. It always has the number in stock, and as much of the other data as is available.
struct Offer: Codable, Sendable {
  let sku: String
  let count: Int
  /// Whether the count is stale because the stock server could not be reached.
  let isOld: Bool
  /// The price; `nil` if it is unknown.
  let price: Double?
  /// The requested currency, or the euro if the rate is unknown.
  let currency: String
}
