// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// The API for the price of an article. It requires a token, and its server's keys are pinned.
struct Prices: HTTPResourceEndpoint {
  let baseURL: URL
  let sku: String

  var path: String? { "prices/\(sku.pathSegment)" }

  var options: RequestOptions { .named("price", "/prices/{sku}") }
}

struct Price: Decodable, Sendable {
  let cents: Int
}

extension HTTPResource where Model == Price, APIError == TextAPIError {
  static func price(of sku: String, from baseURL: URL) -> Self {
    .init(Prices(baseURL: baseURL, sku: sku), decoding: .json(), errorDecoding: .text)
  }
}
