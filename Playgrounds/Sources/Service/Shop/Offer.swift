// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// What a user of the shop gets: always how many there are, and as much of the rest as there is.
struct Offer: Codable, Sendable {
  let sku: String
  let count: Int
  /// Whether the count is an old one, for its server could not be asked.
  let isOld: Bool
  /// `nil` where no price is known.
  let price: Double?
  /// The currency asked for; the euro where its rate is not known.
  let currency: String
}
