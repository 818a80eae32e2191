// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro

/// The API for the stock of an article. Its responses may be cached.
struct Stock: HTTPResourceEndpoint {
  let baseURL: URL
  let sku: String

  var path: String? { "stock/\(sku.pathSegment)" }

  var options: RequestOptions { .named("stock", "/stock/{sku}") }
}

struct StockCount: Decodable, Sendable {
  let count: Int
}

extension HTTPResource where Model == StockCount, APIError == TextAPIError {
  static func stock(of sku: String, from baseURL: URL) -> Self {
    .init(Stock(baseURL: baseURL, sku: sku), decoding: .json(), errorDecoding: .text)
  }
}
